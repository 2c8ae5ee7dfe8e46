"""The shared cases: each verdict, each class, by the function and by the command."""

import json

import pytest

from stoker import cli
from stoker.serving import rules
from stoker.serving.checking import written
from tests.serving.checking.shared import Row, needed, rows

pytestmark = needed


@pytest.mark.parametrize("row", rows(), ids=str)
def test_a_case_gets_its_verdict_and_its_class(row: Row) -> None:
    verdict = written.verdict(row.id, row.path.read_text(), rows=rules.load())
    assert verdict.word in row.expected, verdict.reasons
    classes = [reason.name for reason in verdict.reasons]
    assert row.reason in classes if row.reason else verdict.word != "ok" or not classes
    # One cause is one reason: nobody reads the second of three.
    assert len(classes) == len(set(classes))
    for reason in verdict.reasons:
        assert reason.message and reason.hint and "\n" not in reason.message + reason.hint


def test_the_command_says_the_same_of_all_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--json", *(str(row.path) for row in rows())]) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["file"] for one in told] == [str(row.path) for row in rows()]
    for row, one in zip(rows(), told, strict=True):
        assert one["verdict"] in row.expected
        assert all({"class", "message", "hint"} <= reason.keys() for reason in one["reasons"])


def test_a_warning_alone_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    mild = [row for row in rows() if row.expected == {"warn"}]
    assert cli.main(["check", *(str(row.path) for row in mild)]) == 0
    assert capsys.readouterr().out.count(": warn\n") == len(mild)
