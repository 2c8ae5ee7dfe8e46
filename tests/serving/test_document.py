"""YAML as somebody sends it: data, or a sentence."""

import pytest

from stoker.refused import Refused
from stoker.serving.document import read, read_texts


def test_data_comes_typed_or_as_it_is_written() -> None:
    text = "a: 0.80\nb: [true, '~', ~]\nc: {d: 1_0}\n"
    assert read(text) == ({"a": 0.8, "b": [True, "~", None], "c": {"d": 10}}, [])
    assert read_texts(text) == ({"a": "0.80", "b": ["true", "~", None], "c": {"d": "1_0"}}, [])


def test_a_key_that_is_there_twice_is_told_with_both_lines_in_either_form() -> None:
    for reader in (read, read_texts):
        _, duplicates = reader("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n")
        assert duplicates == [
            "a: is there twice, lines 1 and 5",
            "c: is there twice, lines 3 and 4",
        ]


@pytest.mark.parametrize("reader", [read, read_texts])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "is nested too deeply"),
        ("- " * 100_000, "is nested too deeply"),
        ("{a: " * 990 + "}" * 990, ""),
        ("x: &x [1]\ny: [*x, *x]", "an alias stands for another value"),
        ("x: &x\n- *x", "an alias stands for another value"),
        ("? [a, b]\n: c", "is not YAML"),
        ("a: b\0", "is not YAML: unacceptable character #x0000"),
        ("a: [1", "is not YAML"),
        ("!!python/object/apply:os.system [id]", ""),
        ("a: \ud800", "is not YAML"),
    ],
)
def test_what_is_hostile_ends_in_a_sentence(reader: object, text: str, problem: str) -> None:
    assert callable(reader)
    try:
        reader(text)
    except Refused as refused:
        assert "\n" not in str(refused)
        assert problem in str(refused)
    else:
        assert not problem
