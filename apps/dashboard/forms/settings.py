"""API keys and people."""

from __future__ import annotations

from collections.abc import Iterable

from django import forms

from apps.catalog.domain.nouns import TeamRow

SCOPES = (
    ("ingest", "ingest: send requests and outcomes"),
    ("read", "read: usage, costs and tasks as JSON"),
    ("export", "export: FOCUS and CSV files"),
)
ROLES = (
    ("admin", "Admin: everything"),
    ("operator", "Operator: every page, catalog, targets and rejected records"),
    ("analyst", "Analyst: every page, prices and exports"),
    ("lead", "Lead: own teams only"),
)


class TeamsForm(forms.Form):
    """A form with a choice of teams; `teams` comes out as ids."""

    teams = forms.TypedMultipleChoiceField(
        label="Teams", required=False, coerce=int, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: object, teams: Iterable[TeamRow] = (), **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["teams"]
        assert isinstance(field, forms.TypedMultipleChoiceField)
        field.choices = [(str(team.id), team.name) for team in teams]


class KeyForm(TeamsForm):
    name = forms.CharField(max_length=200, help_text="Who or what uses it, e.g. the gateway's name.")
    scopes = forms.MultipleChoiceField(label="May", choices=SCOPES, widget=forms.CheckboxSelectMultiple)

    field_order = ("name", "scopes", "teams")

    def __init__(self, *args: object, teams: Iterable[TeamRow] = (), **kwargs: object) -> None:
        super().__init__(*args, teams=teams, **kwargs)
        self.fields["teams"].help_text = "What it may read. None ticked: all teams."


class PersonForm(TeamsForm):
    username = forms.CharField(label="Name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(choices=ROLES, initial="lead")

    field_order = ("username", "role", "teams")

    def __init__(self, *args: object, teams: Iterable[TeamRow] = (), **kwargs: object) -> None:
        super().__init__(*args, teams=teams, **kwargs)
        self.fields["teams"].help_text = "Only for leads."


class PersonChangeForm(TeamsForm):
    role = forms.ChoiceField(choices=ROLES)
    active = forms.BooleanField(label="May sign in", required=False)

    field_order = ("role", "teams", "active")
