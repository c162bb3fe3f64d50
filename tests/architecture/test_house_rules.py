"""Rules that hold over the whole repository: layers, documentation of settings and dependencies, templates, tables."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from django.apps import apps

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def test_imports_keep_to_the_contracts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if "No module named 'importlinter'" in done.stderr:
        pytest.skip("import-linter is in the extra 'dev'; make lint runs it")
    assert done.returncode == 0, done.stdout


def test_only_config_reads_the_environment() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "apps").rglob("*.py")
        if path.parts[len(ROOT.parts) + 1] != "config" and re.search(r"\benviron\b|\bgetenv\b", path.read_text())
    ]
    assert readers == []


def _settings_read() -> set[str]:
    tree = ast.parse((ROOT / "apps" / "config" / "settings.py").read_text())
    return {
        call.args[0].value
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "env"
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    }


def _first_column(page: str) -> set[str]:
    return set(re.findall(r"^\| `?([A-Za-z_-]+)`? \|", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE))


def test_every_setting_is_documented_and_every_documented_setting_exists() -> None:
    documented = {name for name in _first_column("operations.md") if name.isupper()}
    assert documented == _settings_read()


def test_every_dependency_says_why_it_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = {re.split(r"[\[<>=~! ]", line, maxsplit=1)[0] for group in groups for line in group}
    heads = {"package", "variable", "path", "process", "---"}
    assert _first_column("dependencies.md") - heads == wanted


def test_the_lock_pins_every_dependency_and_names_no_host() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+", line)] == []
    locked = {re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"], *extras["dev"]]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=~! ]", line, maxsplit=1)[0]).lower() for line in wanted}
    assert names - locked == set()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_templates_keep_to_the_content_security_policy(template: Path) -> None:
    text = re.sub(r"{#.*?#}|{% comment.*?endcomment %}|<!--.*?-->", "", template.read_text(), flags=re.DOTALL)
    scripts = re.findall(r"<script\b([^>]*)>", text)
    inline = [tag for tag in scripts if "src=" not in tag and 'type="application/json"' not in tag]
    assert inline == [], "inline script"
    assert re.findall(r"<style\b", text) == [], "inline style element"
    assert re.findall(r"\sstyle\s*=", text) == [], "style attribute"
    assert re.findall(r"\son[a-z]+\s*=|\shx-on\b|javascript:", text) == [], "inline handler"
    assert re.findall(r"""(?:src|srcset|<link[^>]*href)\s*=\s*["'](?:https?:)?//""", text) == [], "from elsewhere"


def test_no_table_has_a_place_for_prompts_or_answers() -> None:
    forbidden = re.compile(r"prompt|completion_text|answer_text|messages|response|content\b|transcript")
    found = [
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if model._meta.app_config.name.startswith("apps.")
        for field in model._meta.get_fields()
        if forbidden.search(field.name) and not field.name.endswith("_tokens")
    ]
    assert found == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "apps").rglob("*.py")
        if "migrations" not in path.parts
        and (text := path.read_text()).strip()
        and ast.get_docstring(ast.parse(text)) is None
        and path.name not in ("apps.py", "__init__.py")
    ]
    assert silent == []
