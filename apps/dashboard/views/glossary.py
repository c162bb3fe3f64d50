"""The glossary: what each word and number on the pages means."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.dashboard.access import require
from apps.dashboard.glossary import GROUPS


@require("account")
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/glossary.html", {"groups": GROUPS})
