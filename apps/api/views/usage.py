"""GET /api/v1/usage: attempts, tokens and latency."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import answers
from apps.api.domain.pages import read_page
from apps.api.domain.parameters import Question
from apps.api.naming import Names, filters_of
from apps.api.schema.usage import ACCEPTED, USAGE
from apps.api.views.base import Reading
from apps.core.vocabulary import Status
from apps.rollups.selectors import Usage, usage


@USAGE
class UsageRows(Reading):
    accepted = ACCEPTED

    def get(self, request: Request) -> Response:
        question, names = self.question(request), Names()
        filters = filters_of(question.slugs, self.caller(request), names)
        page = read_page(
            question,
            lambda window: usage(window=window, group_by=question.group_by, bucket=question.bucket, filters=filters),
        )
        return Response(answers.envelope(question, page, [_row(row, question, names) for row in page.rows]))


def _row(row: Usage, question: Question, names: Names) -> dict[str, object]:
    return {
        "bucket": row.bucket,
        **names.labelled(row.ids, question.group_by),
        "attempts": row.attempts,
        "attempts_by_status": {status.word: getattr(row, status.word) for status in Status},
        "client_requests": row.calls,
        "failed_client_requests": row.failed_calls,
        "streamed_attempts": row.streamed,
        "attempts_without_token_counts": row.without_tokens,
        "input_tokens": row.input_tokens,
        "cache_read_tokens": row.cache_read_tokens,
        "cache_write_tokens": row.cache_write_tokens,
        "output_tokens": row.output_tokens,
        "reasoning_tokens": row.reasoning_tokens,
        "ttft_seconds": answers.latency(row.ttft, "streamed successful attempt with a first-token time"),
        "itl_seconds": answers.latency(row.itl, "streamed successful attempt with more than one output token"),
        "e2e_seconds": answers.latency(row.e2e, "successful attempt with an end time"),
        "queue_seconds": answers.latency(row.queue, "attempt whose source states a queue time"),
    }
