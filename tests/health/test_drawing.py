"""The page of the ladder is the table."""

from pathlib import Path

from stoker.health.drawing import drawing
from stoker.health.table import TABLE

PAGE = Path(__file__).parents[2] / "docs" / "ladder.md"


def test_the_page_is_drawn_from_the_table() -> None:
    assert PAGE.read_text() == drawing(), "python -m stoker.health.drawing > docs/ladder.md"


def test_every_row_is_on_the_page() -> None:
    assert all(f"| **{row.name}** {row.title} |" in drawing() for row in TABLE)


def test_the_runbook_has_a_section_for_every_row() -> None:
    runbook = PAGE.with_name("runbook.md").read_text()
    assert [row.name for row in TABLE if f"### {row.name} {row.title}\n" not in runbook] == []
