"""The runbook's part on the classes is made of their rows, with an anchor each."""

import re
from pathlib import Path

import pytest

from stoker.health.crash import page
from stoker.health.crash.classes import known
from stoker.health.crash.explaining import explained

RUNBOOK = (Path(__file__).parents[3] / "docs" / "runbook.md").read_text()


def anchor(heading: str) -> str:
    """As GitHub makes it of a heading's text."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors() -> list[str]:
    return [anchor(text) for text in re.findall(r"^#+ (.*)$", RUNBOOK, re.MULTILINE)]


def test_the_page_is_made_of_the_rows() -> None:
    assert page.renewed(RUNBOOK) == RUNBOOK, "make tables"


def test_every_place_in_the_words_of_a_class_is_filled() -> None:
    assert re.findall(r"\{\w+\}", page.part()) == []
    said = [line for row in known().values() for line in explained(row)]
    assert [line for line in said if "{" in line] == []


def test_every_class_has_one_anchor_of_its_name() -> None:
    made = anchors()
    assert [name for name in known() if made.count(name) != 1] == []


def test_every_link_within_the_page_leads_somewhere() -> None:
    links = re.findall(r"\]\(#([^)]*)\)", RUNBOOK)
    assert set(links) - set(anchors()) == set()


def test_a_page_without_its_markers_is_refused_and_not_guessed_at() -> None:
    with pytest.raises(ValueError, match="put them back"):
        page.renewed(RUNBOOK.replace(page.END, ""))


def test_what_is_written_around_the_part_stays() -> None:
    before, after = RUNBOOK.split(page.BEGIN)[0], RUNBOOK.split(page.END)[1]
    made = page.renewed(f"{before}{page.BEGIN}\nold words\n{page.END}{after}")
    assert made == RUNBOOK
