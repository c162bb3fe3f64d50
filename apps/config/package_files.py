"""The scripts that installed packages bring along, as static files: nothing copied in here, nothing from a CDN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import FileSystemStorage, Storage

# Name under /static/ -> package, file inside it. The name's folder is the storage's prefix.
FILES = {
    "plotly/plotly.min.js": ("plotly", "package_data/plotly.min.js"),
    "django_htmx/htmx-2.min.js": ("django_htmx", "static/django_htmx/htmx-2.min.js"),
}


class PackageFilesFinder(BaseFinder):
    """Finds exactly the files of FILES, wherever pip put their packages."""

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path not in FILES:
            return []
        found = str(_located(path))
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        for name in FILES:
            storage = FileSystemStorage(location=_located(name).parent)
            storage.prefix = name.rpartition("/")[0]  # type: ignore[attr-defined]
            yield name.rpartition("/")[2], storage


def _located(name: str) -> Path:
    package, inside = FILES[name]
    spec = find_spec(package)
    for root in (spec.submodule_search_locations or []) if spec else []:
        if (file := Path(root) / inside).is_file():
            return file
    raise ImproperlyConfigured(f"The installed package {package} has no {inside}: /static/{name} cannot be served.")
