"""One error shape for the whole product: what is wrong, where, which value, and what would be right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one input.

    `code` is a stable machine word (`negative`, `wrong_type`, `missing`, ...), `field` the path inside the record
    (empty for the record as a whole), `record` its 0-based position in the batch (None outside batches).
    """

    code: str
    message: str
    field: str = ""
    record: int | None = None

    def as_dict(self) -> dict[str, object]:
        out: dict[str, object] = {"code": self.code, "field": self.field, "message": self.message}
        if self.record is not None:
            out["record"] = self.record
        return out

    def __str__(self) -> str:
        where = f"record {self.record}" if self.record is not None else ""
        if self.field:
            where = f"{where}, field '{self.field}'" if where else f"field '{self.field}'"
        return f"{where}: {self.message}" if where else self.message


class InvalidInput(ValueError):
    """Input that cannot be accepted; carries every problem found, not only the first."""

    def __init__(self, problems: list[Problem] | Problem) -> None:
        self.problems = problems if isinstance(problems, list) else [problems]
        super().__init__("; ".join(str(p) for p in self.problems))


class NotReady(RuntimeError):
    """Something that the call needs is away for now; the caller may retry. The message says what and why."""
