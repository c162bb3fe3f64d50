"""Forms: what people type becomes the arguments of a service, and the problems it finds go back onto fields."""

from __future__ import annotations

from django import forms

from apps.core.errors import InvalidInput


def show_problems(form: forms.Form, error: InvalidInput, names: dict[str, str] | None = None) -> None:
    """Put each problem onto the field of its name (`names`: the service's name to the form's), else onto the form."""
    for problem in error.problems:
        field = (names or {}).get(problem.field, problem.field).partition(".")[0].partition("[")[0]
        message = problem.message[:1].upper() + problem.message[1:]
        form.add_error(field if field in form.fields else None, message)
