"""memory.tsv beside what is predicted, row by row, and the medians of the errors."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from stoker.serving.catalogue.parsed import Parsed
from stoker.serving.checking.question import Question
from stoker.serving.memory.cells import Cell, cell
from stoker.serving.memory.prediction import Prediction, worked_out
from stoker.serving.memory.reserve import default_fraction
from stoker.serving.memory.rest import rest
from stoker.serving.memory.settings import resolve
from tests.serving.memory.rows import Row

LIMIT = {"mha": 1.0, "mla": 1.0, "hybrid": 3.0}
"""How far a prediction from logged memory may be off, per cent."""


@dataclass(frozen=True)
class Result:
    """A row with both predictions: from logged memory, and from the kind of card alone."""

    row: Row
    logged: Prediction | str
    static: Prediction | str

    @property
    def logged_error(self) -> float | None:
        """Per cent of tokens; None: nothing to compare."""
        return self._error(self.logged)

    @property
    def static_error(self) -> float | None:
        """Per cent of tokens from static facts."""
        return self._error(self.static)

    @property
    def left_error(self) -> float | None:
        """GiB by which the free memory after the pool is off, from logged memory."""
        real = self.row.number("avail_after_pool_gb")
        if real is None or isinstance(self.logged, str) or not self._comparable:
            return None
        return self.logged.pool.left_gib - real

    @property
    def cell_error(self) -> int | None:
        """Bytes by which the cell of the row's facts differs from the row's own."""
        real = self.row.number("cell_bytes")
        plain = _without(self.row.question, "speculative_algorithm")
        each = cell(plain, resolve(plain))
        return None if real is None or not isinstance(each, Cell) else each.planned - int(real)

    @property
    def fails(self) -> bool:
        """Whether this start failed."""
        return self.row.cells["predicted_outcome"] == "fails" or "fail" in self.row.cells["kind"]

    @property
    def failure_predicted(self) -> bool:
        """Whether a prediction says that it will not start."""
        left = [rest(self.row.question, resolve(self.row.question), self.row.logged)]
        left += [rest(self.row.question, resolve(self.row.question))]
        return any(one is not None and one.gib <= 0 for one in left) or any(
            not isinstance(one, str) and not one.starts for one in (self.logged, self.static)
        )

    @property
    def _comparable(self) -> bool:
        return self.row.judged or self.row.cells["kind"] == "capped"

    def _error(self, one: Prediction | str) -> float | None:
        real = self.row.number("tokens")
        if real is None or isinstance(one, str) or not self.row.judged:
            return None
        return (one.pool.tokens - real) / real * 100


def results(rows: Iterable[Row]) -> list[Result]:
    """Every row, predicted."""
    return [Result(row, _from_log(row), worked_out(row.question)) for row in rows]


def _from_log(row: Row) -> Prediction | str:
    if row.logged is None:
        return "the row gives no memory before and after the weights"
    return worked_out(row.question, row.logged)


def lines(found: list[Result]) -> Iterator[str]:
    """The table."""
    head = ("id", "arch", "kind", "real", "from log", "off %", "static", "off %", "left", "pred.")
    yield _line(head)
    for result in found:
        yield _line(_cells(result))
    yield ""
    yield from summary(found)


def summary(found: list[Result]) -> Iterator[str]:
    """The medians and the failures, a line each."""
    for arch, limit in LIMIT.items():
        errors = [
            abs(result.logged_error)
            for result in found
            if result.logged_error is not None and result.row.cells["arch"] == arch
        ]
        yield f"from logged memory, {arch}: {_spread(errors, '%')}; the limit is {limit:g} %"
    static = [abs(e) for r in found if (e := r.static_error) is not None]
    yield f"from static facts: {_spread(static, '%')}; the limit of the median is 5 %"
    left = [abs(e) for r in found if (e := r.left_error) is not None]
    yield f"free after the pool, from logged memory: {_spread(left, 'GiB')}"
    failed = [result for result in found if result.fails]
    told = sum(result.failure_predicted for result in failed)
    yield f"failed starts: {told} of {len(failed)} predicted"
    wrong = [r.row.cells["id"] for r in found if not r.fails and r.failure_predicted]
    yield f"starts that were predicted to fail: {', '.join(wrong) or 'none'}"
    cells = [r.row.cells["id"] for r in found if r.cell_error not in (None, 0)]
    yield f"cells that differ from the row's: {', '.join(cells) or 'none'}"
    yield from (f"default fraction, {told}" for told in _defaults(found))


def _defaults(found: list[Result]) -> Iterator[str]:
    for result in found:
        source = result.row.cells["mem_fraction_source"]
        if not ("default" in source or "server_args" in source):
            continue
        question = _without(result.row.question, "mem_fraction_static")
        ours = default_fraction(resolve(question), question.model)
        cells = result.row.cells
        yield f"{cells['id']}: {cells['mem_fraction']} ({source}); ours {ours}"


def _without(question: Question, dest: str) -> Question:
    values = {key: value for key, value in question.parsed.values.items() if key != dest}
    return replace(question, parsed=Parsed(values))


def _spread(errors: list[float], unit: str) -> str:
    if not errors:
        return "no row"
    median, worst = statistics.median(errors), max(errors)
    return f"median {median:.3f} {unit}, worst {worst:.2f} {unit}, {len(errors)} rows"


def _cells(result: Result) -> tuple[str, ...]:
    cells = result.row.cells
    left = "-" if isinstance(result.logged, str) else f"{result.logged.pool.left_gib:.2f}"
    return (
        cells["id"],
        cells["arch"],
        cells["kind"],
        cells["tokens"],
        _tokens(result.logged),
        _per_cent(result.logged_error),
        _tokens(result.static),
        _per_cent(result.static_error),
        cells["avail_after_pool_gb"],
        left,
    )


def _tokens(one: Prediction | str) -> str:
    return "-" if isinstance(one, str) else str(one.pool.tokens) if one.starts else "no start"


def _per_cent(error: float | None) -> str:
    return "-" if error is None else f"{error:+.3f}"


def _line(cells: Iterable[str]) -> str:
    widths = (5, 7, 16, 9, 9, 8, 9, 9, 7, 7)
    return " ".join(f"{text:>{width}}" for text, width in zip(cells, widths, strict=True))
