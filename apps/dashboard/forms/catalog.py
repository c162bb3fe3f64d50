"""Nouns of the catalog, their labels and prices. What they hand on is what the catalog's file would say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from django import forms

from apps.catalog import selectors as catalog
from apps.catalog.domain.aliases import slug_of
from apps.catalog.domain.nouns import (
    DeploymentRow,
    EndpointRow,
    GpuTypeRow,
    KeyRow,
    NounRow,
    ReplicaRow,
)

MOMENT = "%Y-%m-%dT%H:%M:%S"


def _choices(rows: Iterable[NounRow], none: str) -> list[tuple[str, str]]:
    return [("", none), *((row.slug, row.name) for row in rows)]


def _slugs(rows: Iterable[NounRow]) -> dict[int, str]:
    return {row.id: row.slug for row in rows}


def _moment_field(label: str, help_text: str = "", *, required: bool = False) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format=MOMENT)
    return forms.DateTimeField(label=label, required=required, help_text=help_text, widget=widget)


class NounForm(forms.Form):
    """Name and slug; the kinds add their fields."""

    kind = ""
    name = forms.CharField(max_length=200)
    slug = forms.CharField(
        max_length=100, required=False, help_text="For addresses, files and the API. Made from the name if left empty."
    )

    def __init__(self, data: Mapping[str, object] | None = None, *, row: NounRow | None = None) -> None:
        initial = {"name": row.name, "slug": row.slug, **self.initial_of(row)} if row else None
        super().__init__(data, initial=initial)
        self._row = row

    def initial_of(self, row: NounRow) -> dict[str, object]:
        return {}

    def fields_of_file(self) -> dict[str, object]:
        """What was typed, as the file would say it; an empty choice is None.

        Of a noun that exists only what differs from what the form showed: the rest may hold more than the form shows
        (fractions of a second), or have been changed by somebody else meanwhile.
        """
        names = self.changed_data if self._row else list(self.cleaned_data)
        fields: dict[str, object] = {name: self.cleaned_data[name] for name in names}
        fields = {name: None if value == "" else value for name, value in fields.items()}
        slug = self.cleaned_data["slug"] or (
            self._row.slug if self._row else slug_of(self.kind, self.cleaned_data["name"])
        )
        return {**fields, "slug": slug}


class TeamForm(NounForm):
    kind = "team"


class ModelForm(NounForm):
    kind = "model"


class EndpointForm(NounForm):
    kind = "endpoint"
    team = forms.ChoiceField(required=False)
    decision_window_hours = forms.IntegerField(
        label="Decision window (hours)",
        min_value=1,
        max_value=24 * 365,
        initial=72,
        help_text="A task undecided for longer counts as not accepted.",
    )

    def __init__(self, data: Mapping[str, object] | None = None, *, row: NounRow | None = None) -> None:
        super().__init__(data, row=row)
        _offer(self, "team", _choices(catalog.teams(), "nobody's"))

    def initial_of(self, row: NounRow) -> dict[str, object]:
        assert isinstance(row, EndpointRow)
        team = _slugs(catalog.teams()).get(row.team_id, "")
        return {"team": team, "decision_window_hours": row.decision_window_hours}


class GpuTypeForm(NounForm):
    kind = "gpu_type"
    memory_gib = forms.DecimalField(
        label="Memory (GiB)", required=False, min_value=Decimal(0), max_digits=8, decimal_places=2
    )

    def initial_of(self, row: NounRow) -> dict[str, object]:
        assert isinstance(row, GpuTypeRow)
        return {"memory_gib": row.memory_gib}


class DeploymentForm(NounForm):
    kind = "deployment"
    model = forms.ChoiceField(required=False)
    owner = forms.ChoiceField(required=False, help_text="The team that idle, loading and down time belongs to.")
    gpu_type = forms.ChoiceField(label="GPU type", required=False)
    gpus_per_replica = forms.DecimalField(
        label="GPUs per replica", min_value=Decimal(0), max_digits=8, decimal_places=4, initial=1
    )

    def __init__(self, data: Mapping[str, object] | None = None, *, row: NounRow | None = None) -> None:
        super().__init__(data, row=row)
        _offer(self, "model", _choices(catalog.models(), "not said"))
        _offer(self, "owner", _choices(catalog.teams(), "nobody"))
        _offer(self, "gpu_type", _choices(catalog.gpu_types(), "not said: costs stay unknown"))

    def initial_of(self, row: NounRow) -> dict[str, object]:
        assert isinstance(row, DeploymentRow)
        return {
            "model": _slugs(catalog.models()).get(row.model_id, ""),
            "owner": _slugs(catalog.teams()).get(row.owner_id, ""),
            "gpu_type": _slugs(catalog.gpu_types()).get(row.gpu_type_id, ""),
            "gpus_per_replica": row.gpus_per_replica.normalize(),
        }


class ReplicaForm(NounForm):
    kind = "replica"
    deployment = forms.ChoiceField(required=False)
    metrics_url = forms.CharField(
        label="Metrics page",
        required=False,
        max_length=200,
        help_text="e.g. http://10.0.0.5:8000/metrics, scraped every 15 s. Left empty: not scraped.",
    )
    held_from = _moment_field("Holds its GPUs from (UTC)", "Left empty: from its first evidence.")
    held_until = _moment_field("until (UTC)", "Left empty: still.")

    def __init__(self, data: Mapping[str, object] | None = None, *, row: NounRow | None = None) -> None:
        super().__init__(data, row=row)
        _offer(self, "deployment", _choices(catalog.deployments(), "none: costs stay unknown"))

    def initial_of(self, row: NounRow) -> dict[str, object]:
        assert isinstance(row, ReplicaRow)
        return {
            "deployment": _slugs(catalog.deployments()).get(row.deployment_id, ""),
            "metrics_url": row.metrics_url,
            "held_from": row.held_from,
            "held_until": row.held_until,
        }


class KeyForm(NounForm):
    kind = "key"
    team = forms.ChoiceField(required=False)

    def __init__(self, data: Mapping[str, object] | None = None, *, row: NounRow | None = None) -> None:
        super().__init__(data, row=row)
        _offer(self, "team", _choices(catalog.teams(), "nobody's"))

    def initial_of(self, row: NounRow) -> dict[str, object]:
        assert isinstance(row, KeyRow)
        return {"team": _slugs(catalog.teams()).get(row.team_id, "")}


FORMS: Mapping[str, Callable[..., NounForm]] = {
    form.kind: form for form in (TeamForm, EndpointForm, ModelForm, GpuTypeForm, DeploymentForm, ReplicaForm, KeyForm)
}


class LabelForm(forms.Form):
    """A raw label, and since when it means the noun."""

    raw = forms.CharField(label="Label", max_length=10_000, help_text="Exactly as gateways and engines send it.")
    valid_from = _moment_field("From (UTC)", "Left empty: always.")


class PriceForm(forms.Form):
    """A price asks from which date it holds; the one before it ends there."""

    amount = forms.DecimalField(min_value=Decimal(0), max_digits=20, decimal_places=10)
    currency = forms.CharField(max_length=3, initial="USD")
    effective_from = _moment_field("From which date? (UTC)", "Hours before it keep the price they have.", required=True)
    effective_until = _moment_field("Until (UTC)", "Left empty: until the next price, or still.")
    source = forms.CharField(max_length=300, help_text="Where the number comes from: contract, list, assumption.")
    assumed = forms.BooleanField(label="Assumed: every page that uses it says so", required=False)

    def price_fields(self) -> dict[str, object]:
        """What is typed, as the file would say it."""
        data = self.cleaned_data
        return {
            "amount": data["amount"],
            "currency": data["currency"].upper(),
            "from": data["effective_from"],
            "until": data["effective_until"],
            "source": data["source"],
            "assumed": data["assumed"],
        }


class GpuPriceForm(PriceForm):
    gpu_type = forms.ChoiceField(label="GPU type")
    field_order = ("gpu_type", "amount", "currency", "effective_from", "effective_until", "source", "assumed")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        _offer(self, "gpu_type", [(row.slug, row.name) for row in catalog.gpu_types()])
        self.fields["amount"].label = "Price of one GPU for one hour"

    def price_fields(self) -> dict[str, object]:
        return {**super().price_fields(), "gpu_type": self.cleaned_data["gpu_type"]}


class ReviewerPriceForm(PriceForm):
    endpoint = forms.ChoiceField(required=False, help_text="A price of one endpoint goes before the general one.")
    field_order = ("endpoint", "amount", "currency", "effective_from", "effective_until", "source", "assumed")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        _offer(self, "endpoint", _choices(catalog.endpoints(), "all endpoints"))
        self.fields["amount"].label = "Price of one hour of review"

    def price_fields(self) -> dict[str, object]:
        return {**super().price_fields(), "endpoint": self.cleaned_data["endpoint"] or None}


PRICE_FORMS: Mapping[str, type[PriceForm]] = {"gpu_hour": GpuPriceForm, "reviewer_hour": ReviewerPriceForm}


def _offer(form: forms.Form, name: str, choices: list[tuple[str, str]]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices
