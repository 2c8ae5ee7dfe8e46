import multiprocessing
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyinfra.api import OperationError

from stoker.operations.recording import record, replaced
from stoker.serving.evidence import file
from stoker.serving.evidence.checked import Checked
from stoker.serving.evidence.record import Figures, Proof, Ran
from tests.serving.evidence import records
from tests.serving.flagsets import flagset, units

HOST = SimpleNamespace(name="gpu-a")
FULL = Proof(Figures(tokens_per_s=1867.0, throughput=1350.0), Ran("burst", "bench"), ("ready",))


def checked(**changed: str) -> Checked:
    return Checked(flagset(), records.fingerprint(**changed), "reported")


def test_a_full_proof_becomes_evidence_of_its_fingerprint(tmp_path: Path) -> None:
    path = record(HOST, units()[0], checked(), FULL, tmp_path)
    assert path == tmp_path / "evidence" / "tiny.yaml"
    (kept,) = file.load(tmp_path, "tiny")
    assert (kept.machine, kept.fingerprint) == ("gpu-a, sglang.service", records.fingerprint())
    assert (kept.figures, kept.ran, kept.log) == (FULL.figures, FULL.ran, FULL.log)
    assert list(path.parent.iterdir()) == [path]


def test_evidence_of_other_fingerprints_stays(tmp_path: Path) -> None:
    record(HOST, units()[0], checked(driver="570.1"), FULL, tmp_path)
    record(HOST, units()[0], checked(), FULL, tmp_path)
    record(HOST, units()[0], checked(driver="570.1"), FULL, tmp_path)
    drivers = [one.fingerprint.driver for one in file.load(tmp_path, "tiny")]
    assert drivers == ["570.1", "580.95.05"]


def test_a_burst_alone_is_no_evidence(tmp_path: Path) -> None:
    burst = replace(FULL, ran=Ran("burst"))
    assert record(HOST, units()[0], checked(), burst, tmp_path) is None
    assert not list(tmp_path.iterdir())


def test_a_file_that_no_run_wrote_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "evidence" / "tiny.yaml"
    path.parent.mkdir()
    path.write_text("mine\n")
    with pytest.raises(OperationError) as refused:
        record(HOST, units()[0], checked(), FULL, tmp_path)
    assert str(refused.value).startswith("cannot keep the evidence of tiny, which serves: ")
    assert "\n" not in str(refused.value)
    assert path.read_text() == "mine\n"


def test_where_it_cannot_be_written_the_sentence_says_why(tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("a file")
    with pytest.raises(OperationError, match=r"which serves: .*/evidence: File exists; correct"):
        record(HOST, units()[0], checked(), FULL, tmp_path)


def test_a_death_in_the_middle_of_writing_leaves_a_whole_file(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    chance, path = random.Random(seed), file.path_of(tmp_path, "tiny")
    path.parent.mkdir()
    # Long enough that it is written in more than one piece.
    texts = [file.text_of("tiny", [records.record(log=(letter * 100_000,))]) for letter in "abc"]
    replaced(path, texts[0])
    for _ in range(20):
        writer = multiprocessing.get_context("fork").Process(target=forever, args=(path, texts))
        writer.start()
        time.sleep(chance.uniform(0.001, 0.02))
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        assert path.read_text() in texts
    assert record(HOST, units()[0], checked(), FULL, tmp_path)
    assert list(path.parent.iterdir()) == [path]


def forever(path: Path, texts: list[str]) -> None:
    while True:
        for text in texts:
            replaced(path, text)
