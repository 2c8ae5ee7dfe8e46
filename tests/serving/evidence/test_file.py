from dataclasses import replace
from pathlib import Path

import pytest

from stoker.refused import Refused
from stoker.serving.evidence import file
from stoker.serving.evidence.record import Figures
from tests.serving.evidence.records import fingerprint, record


def kept(flagsets: Path, text: str) -> Path:
    path = file.path_of(flagsets, "tiny")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_what_was_written_is_what_is_read_and_the_text_is_always_the_same(tmp_path: Path) -> None:
    records = (record(), record(fingerprint=fingerprint(driver=None), figures=Figures(), log=()))
    text = file.text_of("tiny", records)
    kept(tmp_path, text)
    assert file.load(tmp_path, "tiny") == records
    assert file.text_of("tiny", file.load(tmp_path, "tiny")) == text
    assert text.startswith("# Written by a run, never by hand")


def test_no_file_is_no_evidence(tmp_path: Path) -> None:
    assert file.load(tmp_path, "tiny") == ()


def test_a_new_record_takes_the_place_of_its_fingerprints_and_comes_first() -> None:
    old, other = record(), record(fingerprint=fingerprint(driver="570.1"))
    new = replace(old, figures=Figures(tokens_per_s=1900.0))
    assert file.merged((other, old), new) == (new, other)


def test_the_oldest_drop_out() -> None:
    many = tuple(record(fingerprint=fingerprint(driver=f"{n}.1")) for n in range(file.MOST))
    assert file.merged(many, record()) == (record(), *many[:-1])


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("0.5.12", "0.5.23", "records.0.fingerprint.digest: is not of these parts; it was edited"),
        ("flagset: tiny", "flagset: other", "flagset: is 'other', the file says 'tiny'"),
        ("flagset: tiny", "flagset: tiny\nby: hand", "by: unknown key; known: flagset, records"),
        ("machine: gpu-a", "by: gpu-a", "records.0.machine: Field required"),
        ("tokens_per_s: 1867.0", "tokens_per_s: .nan", "records.0.figures.tokens_per_s: "),
        ("tokens_per_s: 1867.0", "tokens_per_s: .inf", "records.0.figures.tokens_per_s: "),
        ("tokens_per_s: 1867.0", "tokens_per_s: -1", "records.0.figures.tokens_per_s: "),
        ("tokens_per_s: 1867.0", "tokens_per_s: '9'", "records.0.figures.tokens_per_s: "),
        ("tokens_per_s: 1867.0", "tokens_per_s: true", "records.0.figures.tokens_per_s: "),
        ("tpot_ms: 5.4", "tpot: 5.4", "records.0.figures.tpot: Unexpected keyword argument"),
        ("gpus: 1", "gpus: -1", "records.0.fingerprint.gpus: "),
        ("+00:00", "", "records.0.date: has no time zone"),
        ("date: '2026-11-29", "date: '2026-13-29", "records.0.date: "),
        ("records:", "records: 3\nrest:", "records: is no list"),
        ("- date", "- 3\n- date", "records.0.fingerprint: is missing"),
        ("flagset: tiny", "flagset: tiny\nflagset: tiny", "flagset: is there twice"),
        ("log:", "log: &a\n  - *a\nx:", "is not YAML"),
        ("flagset: tiny", "\x00", "is not YAML"),
    ],
)
def test_a_file_that_no_run_wrote_ends_in_a_sentence_with_its_key(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    text = file.text_of("tiny", [record()])
    assert old in text
    path = kept(tmp_path, text.replace(old, new, 1))
    with pytest.raises(Refused) as refused:
        file.load(tmp_path, "tiny")
    assert f"{path}: {problem}" in str(refused.value)
    assert "remove the file to have it measured anew" in str(refused.value)


@pytest.mark.parametrize("bytes_", [b"", b"- 1\n", b"\xff\xfe", b"[" * 100000, b"a: " * 100000])
def test_bytes_that_are_no_evidence_end_in_a_sentence(tmp_path: Path, bytes_: bytes) -> None:
    kept(tmp_path, "").write_bytes(bytes_)
    with pytest.raises(Refused, match="cannot use evidence; remove the file"):
        file.load(tmp_path, "tiny")
