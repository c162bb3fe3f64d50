"""GET /api/v1/tasks: cost per accepted task."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import answers
from apps.api.domain.pages import read_page
from apps.api.domain.parameters import Question
from apps.api.naming import Names, filters_of
from apps.api.schema.tasks import ACCEPTED, TASKS
from apps.api.views.base import Reading
from apps.attribution.selectors import TaskCostRow, task_costs


@TASKS
class TaskRows(Reading):
    accepted = ACCEPTED

    def get(self, request: Request) -> Response:
        question, names, now = self.question(request), Names(), self.now()
        filters = filters_of(question.slugs, self.caller(request), names)
        page = read_page(
            question,
            lambda window: task_costs(
                window=window, group_by=question.group_by, bucket=question.bucket, filters=filters, now=now
            ),
        )
        rows = [_row(row, question, names) for row in page.rows]
        return Response(answers.envelope(question, page, rows, basis="usage"))


def _row(row: TaskCostRow, question: Question, names: Names) -> dict[str, object]:
    return {
        "bucket": row.bucket,
        **names.labelled(row.ids, question.group_by),
        "tasks": row.tasks,
        "decided_tasks": row.decided,
        "accepted_tasks": row.accepted,
        "reworked_tasks": row.reworked,
        "rejected_tasks": row.rejected,
        "expired_tasks": row.expired,
        "pending_tasks": row.pending,
        "retried_tasks": row.retried,
        "escalated_tasks": row.escalated,
        **answers.known_ratio("acceptance_rate", row.acceptance_rate),
        "small_sample": row.small_sample,
        "review_minutes": answers.amount(row.review_minutes),
        "currency": row.currency or None,
        **answers.known("compute_cost", row.compute),
        **answers.known("retries_cost", row.retries),
        **answers.known("fallbacks_cost", row.fallbacks),
        **answers.known("escalations_cost", row.escalations),
        **answers.known("review_cost", row.review),
        **answers.known("serving_cost", row.serving),
        **answers.known("total_cost", row.total),
        **answers.known("pending_cost", row.pending_cost),
        **answers.known_unit_cost("cost_per_accepted_task", row.cost_per_accepted),
        **answers.known_unit_cost("serving_cost_per_accepted_task", row.serving_per_accepted),
        "partial": row.partial,
        "unpriced_reason": row.reason or None,
    }
