"""The list of requests, and the story of one task."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse

from apps.core.query import Dimension
from apps.dashboard.access import require
from apps.dashboard.pages import requests
from apps.dashboard.state import read
from apps.dashboard.views.respond import Option, respond

DIMENSIONS: tuple[Dimension, ...] = ("team", "endpoint", "model", "replica")


@require("costs")
def page(request: HttpRequest) -> HttpResponse:
    state = read(
        request,
        default_range="24h",
        choices={"outcome": requests.OUTCOMES, "tasks": ("any", "yes")},
        dimensions=DIMENSIONS,
    )
    shown = requests.build(state, request.GET.get("after", ""))
    outcome, tasks = state.choices["outcome"], state.choices["tasks"]
    context = {
        "page": shown,
        "outcomes": [Option(text, state.url(outcome=o), o == outcome) for o, text in requests.OUTCOME_WORDS.items()],
        "tasks": [
            Option("all", state.url(tasks="any"), tasks == "any"),
            Option("with a task", state.url(tasks="yes"), tasks == "yes"),
        ],
    }
    return respond(request, state, "pages/requests.html", context, heading="Requests", with_compare=False)


@require("costs")
def task(request: HttpRequest) -> HttpResponse:
    state = read(request, default_range="24h", dimensions=DIMENSIONS)
    task_id = request.GET.get("task", "")
    story = requests.story(state, task_id) if task_id and "\x00" not in task_id else None
    if story is None:
        raise Http404("no attempt of this task is in the request log")
    return respond(request, state, "pages/task.html", {"story": story}, heading=f"Task {task_id}", with_range=False)
