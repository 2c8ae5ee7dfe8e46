import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stoker.refused import Refused
from stoker.serving import quoting

PRINTABLE = st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", codec="utf-8"))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("--tp-size", "--tp-size"),
        ("0.88", "0.88"),
        ("", '""'),
        ("two words", '"two words"'),
        ("50%", '"50%%"'),
        ("$HOME", '"$$HOME"'),
        ('{"a": 1}', '"{\\"a\\": 1}"'),
        ("back\\slash", '"back\\\\slash"'),
        (";", '";"'),
    ],
)
def test_a_word_of_execstart_is_quoted_as_systemd_reads_it(value: str, written: str) -> None:
    assert quoting.word(value) == written


@given(PRINTABLE)
@settings(max_examples=200, deadline=None)
def test_any_printable_word_comes_back_from_its_quoting(value: str) -> None:
    # systemd's rules for these characters are the shell's, but for % and $ doubled.
    (read,) = shlex.split(quoting.word(value))
    assert read.replace("%%", "%").replace("$$", "$") == value


@given(PRINTABLE)
@settings(max_examples=50, deadline=None)
def test_an_environment_files_value_comes_back(value: str) -> None:
    (read,) = shlex.split(
        quoting.env_file_line("KEY", value).replace("\\$", "$").replace("\\`", "`")
    )
    assert read == f"KEY={value}"


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "\0", "\x1b[0m"])
def test_control_characters_are_refused_without_repeating_the_value(value: str) -> None:
    for write in (quoting.word, quoting.text, lambda v: quoting.env_file_line("K", v)):
        with pytest.raises(Refused, match="control character") as refused:
            write(value)
        assert value not in str(refused.value)


def test_an_environment_variables_name_is_checked() -> None:
    with pytest.raises(Refused, match="no environment variable's name"):
        quoting.environment("A-B", "x")


def test_the_program_is_a_plain_absolute_path() -> None:
    with pytest.raises(Refused, match="not a plain absolute path"):
        quoting.command(["python", "x"])
    assert quoting.command(["/usr/bin/env", "a b"]) == '/usr/bin/env "a b"'
