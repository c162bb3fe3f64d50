"""Typed readers of environment variables. What is wrong is told with the variable's name, its value and a right one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit


class SettingError(Exception):
    """A setting that cannot be used, as one sentence."""


class Environment:
    """Reads settings out of a mapping of variables. An empty value counts as not given."""

    def __init__(self, variables: Mapping[str, str] = os.environ) -> None:
        self._variables = variables

    def text(self, name: str, default: str = "") -> str:
        return self._variables.get(name, "").strip() or default

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name)
        match value.lower():
            case "":
                return default
            case "1" | "true" | "yes" | "on":
                return True
            case "0" | "false" | "no" | "off":
                return False
        raise SettingError(f"{name}={value!r} is not a yes or no: use 1 or 0.")

    def whole(self, name: str, default: int, *, least: int = 0, most: int = 2**31 - 1) -> int:
        value = self.text(name)
        if not value:
            return default
        try:
            number = int(value)
        except ValueError:
            raise SettingError(f"{name}={value!r} is not a whole number: use for example {default}.") from None
        if not least <= number <= most:
            raise SettingError(f"{name}={value!r} is out of range: use {least} to {most}.")
        return number

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name, default)
        if value not in allowed:
            raise SettingError(f"{name}={value!r} is not known: use one of {', '.join(allowed)}.")
        return value

    def words(self, name: str) -> list[str]:
        """A list separated by commas."""
        return [word.strip() for word in self.text(name).split(",") if word.strip()]

    def path(self, name: str, default: Path) -> Path:
        value = self.text(name)
        return Path(value).expanduser().absolute() if value else default

    def url(self, name: str, default: str, schemes: tuple[str, ...]) -> str:
        """A URL with one of these schemes; also from the file NAME_FILE, as it may hold a password."""
        value = self.secret(name) or default
        if value and urlsplit(value).scheme not in schemes:
            shown = urlsplit(value).scheme or value.split("@")[-1]
            raise SettingError(f"{name} starts with {shown!r}: use one of {', '.join(s + '://' for s in schemes)}.")
        return value

    def secret(self, name: str) -> str:
        """The value of NAME, or the content of the file that NAME_FILE names (as container secrets come)."""
        file = self.text(f"{name}_FILE")
        if not file:
            return self.text(name)
        if self.text(name):
            raise SettingError(f"{name} and {name}_FILE are both given: use one of them.")
        try:
            return Path(file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"{name}_FILE={file!r} cannot be read: {error}.") from error


def kept_secret(path: Path) -> str:
    """The secret in `path`; made there, readable by its owner only, when there is none. Safe against a second maker."""
    try:
        return _made_secret(path)
    except OSError as error:
        where = error.filename or path
        raise SettingError(
            f"Cannot keep a secret in {path}: {where}: {error.strerror}. "
            "Give a writable directory with INFEROMETER_VAR=/some/directory."
        ) from error


def _made_secret(path: Path) -> str:
    try:
        if secret := path.read_text().strip():
            return secret
        path.unlink()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(secrets.token_urlsafe(50) + "\n")
    try:
        os.link(draft, path)  # fails when somebody was faster; theirs is the one, then
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    return path.read_text().strip()


def database_entry(url: str) -> dict[str, object]:
    """Django's database entry for a postgresql:// URL (socket directories as ?host=, libpq options as parameters)."""
    parts = urlsplit(url)
    options = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "inferometer",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": options.pop("port", str(_port(parts) or "")),
        "OPTIONS": options,
    }


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        raise SettingError(f"DATABASE_URL has a port that is no number: {parts.netloc.split('@')[-1]!r}.") from None
