"""What has to be there before the first page: tables, collected static files, somebody who can sign in.

Each step first asks whether there is anything to do, as usually there is not.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.accounts.services import ensure_first_admin
from apps.config.embedded.failure import told_plainly


def migrate() -> bool:
    """Bring the tables up to date; False when they are."""
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return False
    call_command("migrate", interactive=False, verbosity=0)
    return True


def collect_static() -> bool:
    """Collect and compress the static files; False when none has changed since the last time."""
    root, mark = Path(settings.STATIC_ROOT), Path(settings.VAR_DIR) / "static.fingerprint"
    fingerprint = _static_fingerprint()
    with told_plainly(root):
        if mark.exists() and mark.read_text() == fingerprint and (root / "staticfiles.json").exists():
            return False
        mark.unlink(missing_ok=True)
        shutil.rmtree(root, ignore_errors=True)
        call_command("collectstatic", interactive=False, verbosity=0)
        mark.write_text(fingerprint)
    return True


def _static_fingerprint() -> str:
    """Changes with the name, size or time of any file, and with the program that compresses them."""
    digest = hashlib.sha256(version("whitenoise").encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            info = Path(storage.path(path)).stat()
            digest.update(f"{getattr(storage, 'prefix', '')}/{path} {info.st_size} {info.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def how_to_sign_in() -> str:
    """Make sure that somebody can administer; a sentence that says with which name and password."""
    kept = Path(settings.VAR_DIR) / "first-admin-password"
    password = settings.FIRST_ADMIN_PASSWORD or secrets.token_urlsafe(12)
    admin = ensure_first_admin(password=password)
    if not admin.created:
        hint = f" (the first password is in {kept})" if kept.exists() else ""
        return f"Sign in with your account{hint}."
    if settings.FIRST_ADMIN_PASSWORD:
        return f"Sign in as {admin.username} with the password that you gave."
    with told_plainly(kept):
        kept.touch(mode=0o600)
        kept.write_text(password + "\n")
    return f"Sign in as {admin.username} with the password {password} (also in {kept})."
