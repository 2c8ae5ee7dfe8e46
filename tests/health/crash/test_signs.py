"""What only a line that may matter holds is found in many lines as it is in one."""

from stoker.health.crash.signs import signed, unsigned
from tests.health.crash.test_glancing import SAYING, SILENT


def test_of_many_lines_those_with_a_sign_are_told_from_the_others() -> None:
    lines = [said.translate(None, b"0123456789") for said in (*SAYING, *SILENT, b"", *SAYING)]
    without = unsigned(lines)
    assert without == sorted(set(without))
    assert {len(SAYING) + at for at in range(len(SILENT) + 1)} <= set(without)
    assert [at for at in without if signed(lines[at])] == []


def test_a_sign_that_two_lines_would_make_together_is_none() -> None:
    assert unsigned([b"an error", b": of words", b"File", b'"x"']) == [0, 1, 2, 3]


def test_of_no_lines_none_is_left() -> None:
    assert unsigned([]) == []
