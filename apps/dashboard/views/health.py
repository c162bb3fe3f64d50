"""Data health, and the rejected records that can be fixed and sent again."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts import services as accounts
from apps.core.errors import InvalidInput
from apps.dashboard.access import require, viewer_of
from apps.dashboard.pages import health
from apps.dashboard.state import PageState, read
from apps.dashboard.views.respond import respond
from apps.ingest import selectors as ingest
from apps.ingest import services as ingest_services

PAGE = 50


@require("health")
def page(request: HttpRequest) -> HttpResponse:
    state = _state(request)
    shown = health.build(state)
    context = {"page": shown, "catalog_url": reverse("catalog")}
    return respond(
        request, state, "pages/health.html", context, heading="Data health", answer=shown.answer, with_compare=False
    )


def _state(request: HttpRequest) -> PageState:
    return read(request, default_range="24h", dimensions=("replica",))


@require("health")
def rejects(request: HttpRequest) -> HttpResponse:
    state = _state(request)
    before = request.GET.get("before", "")
    before_id = int(before) if before.isascii() and before.isdigit() and len(before) < 18 else None
    rows = ingest.rejects(before_id=before_id, limit=PAGE + 1)
    context = {
        "rejects": rows[:PAGE],
        "next_url": f"{request.path}?before={rows[PAGE - 1].id}" if len(rows) > PAGE else "",
        "waiting": ingest.open_rejects(),
        "most": ingest.COUNTED,
    }
    return respond(request, state, "pages/rejects.html", context, heading="Rejected records", with_range=False)


@require("health")
@require_http_methods(["GET", "HEAD", "POST"])
def reject(request: HttpRequest, reject_id: int) -> HttpResponse:
    """One rejected record, and the form that sends it again as it is or edited."""
    row = ingest.reject(reject_id)
    if row is None:
        raise Http404("there is no such rejected record")
    payload, problems = row.payload, []
    may_fix = viewer_of(request).can("rejects") and row.state == "open"
    if request.method == "POST":
        payload = request.POST.get("payload", "")
        problems = _send_again(request, reject_id, payload) if may_fix else ["This record is not open to you."]
        if not problems:
            return redirect("rejects")
        row = ingest.reject(reject_id) or row
    context = {"reject": row, "payload": payload, "problems": problems, "may_fix": may_fix}
    response = respond(
        request, _state(request), "pages/reject.html", context, heading=f"Rejected record {reject_id}", with_range=False
    )
    response.status_code = 422 if problems else 200
    return response


def _send_again(request: HttpRequest, reject_id: int, payload: str) -> list[str]:
    """Why the record was rejected again; empty when it is in."""
    try:
        answer = ingest_services.edit_and_resubmit(reject_id=reject_id, payload=payload, now=timezone.now())
    except InvalidInput as error:
        return [str(problem) for problem in error.problems]
    if answer.result == "rejected":
        return [str(problem) for problem in answer.problems]
    _record(request, "reject.resubmit", reject_id, {"result": answer.result})
    messages.success(request, f"Record {reject_id} was sent again: {answer.result}.")
    return []


@require("rejects")
@require_POST
def discard(request: HttpRequest, reject_id: int) -> HttpResponse:
    try:
        ingest_services.discard_reject(reject_id=reject_id)
    except InvalidInput as error:
        messages.error(request, str(error))
    else:
        _record(request, "reject.discard", reject_id, {})
        messages.success(request, f"Record {reject_id} is discarded.")
    return redirect("rejects")


def _record(request: HttpRequest, action: str, reject_id: int, detail: dict[str, object]) -> None:
    user = request.user if request.user.is_authenticated else None
    accounts.record(
        user=user, actor=viewer_of(request).name, action=action, subject=f"rejected record {reject_id}", detail=detail
    )
