"""Writes of people, keys and the audit trail."""

from apps.accounts.services.api_keys import KeyHolder, authenticate_key, create_key, revoke_key
from apps.accounts.services.audit import auditor, record
from apps.accounts.services.people import (
    FirstAdmin,
    change_person,
    create_person,
    ensure_first_admin,
    generated_password,
    replace_team,
    set_password,
)
from apps.accounts.services.sign_in import SignIn, try_sign_in

__all__ = [
    "FirstAdmin",
    "KeyHolder",
    "SignIn",
    "auditor",
    "authenticate_key",
    "change_person",
    "create_key",
    "create_person",
    "ensure_first_admin",
    "generated_password",
    "record",
    "replace_team",
    "revoke_key",
    "set_password",
    "try_sign_in",
]
