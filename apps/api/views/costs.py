"""GET /api/v1/costs: sums of the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import answers
from apps.api.domain.pages import read_page
from apps.api.domain.parameters import Question
from apps.api.naming import Names, filters_of
from apps.api.schema.costs import ACCEPTED, COSTS
from apps.api.views.base import Reading
from apps.attribution.selectors import Cost, Money, costs
from apps.core.vocabulary import Word

W = TypeVar("W", bound=Word)


@COSTS
class CostRows(Reading):
    accepted = ACCEPTED

    def get(self, request: Request) -> Response:
        question, names = self.question(request), Names()
        filters = filters_of(question.slugs, self.caller(request), names)
        page = read_page(
            question,
            lambda window: costs(window=window, group_by=question.group_by, bucket=question.bucket, filters=filters),
        )
        rows = [_row(row, question, names) for row in page.rows]
        return Response(answers.envelope(question, page, rows, basis="allocation"))


def _row(row: Cost, question: Question, names: Names) -> dict[str, object]:
    return {
        "bucket": row.bucket,
        **names.labelled(row.ids, question.group_by),
        "currency": row.currency or None,
        **answers.known("cost", row.amount),
        **answers.known("usage_cost", row.usage_amount),
        **answers.known_ratio("utilisation", row.utilisation),
        "cost_by_component": _by_word(row.components),
        "shared_cost_by_work": _by_word(row.work),
        "shared_cost_by_status": _by_word(row.status),
        **answers.known("waste_cost", row.waste),
        **answers.known("estimated_cost", row.estimated),
        "gpu_seconds": answers.amount(row.gpu_seconds),
        "replica_seconds": answers.amount(row.seconds),
        "unpriced_gpu_seconds": answers.amount(row.unpriced_gpu_seconds),
        "unpriced_replica_seconds": answers.amount(row.unpriced_seconds),
        "partial": row.partial,
        "unpriced_reason": row.reason or None,
    }


def _by_word(parts: Mapping[W, Money]) -> dict[str, str | None]:
    return {word.word: answers.amount(part) for word, part in parts.items()}
