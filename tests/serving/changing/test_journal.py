"""What a switch keeps is enough to undo it, and as secret as it was."""

import base64
import io
import tarfile

from stoker.serving.changing.journal import Journal, journal_of, mending
from tests.serving.flagsets import units

MODEL = {"path": "/dev/shm/m", "staged_from": "/data/m"}
TWO = {"layout": "one-per-gpu", "gpus": (0, 1)}
WANTS = "/etc/systemd/system/multi-user.target.wants"


def members(journal: Journal) -> dict[str, tarfile.TarInfo]:
    packed = io.BytesIO(base64.b64decode(journal.packed))
    with tarfile.open(fileobj=packed) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_it_holds_the_new_files_with_their_modes_and_the_link_that_starts_them_at_boot() -> None:
    (unit,) = units(secrets={"*": {"API_KEY": "k"}})
    packed = members(journal_of([unit], (), (), {}))
    assert packed["new/etc/stoker/sglang.env"].mode == 0o600
    assert packed[f"new{WANTS}/{unit.name}"].linkname.endswith(f"/systemd/system/{unit.name}")
    assert {"units", "ran", "paths", "stages", "copies"} <= packed.keys()


def test_what_goes_keeps_its_files_and_loses_its_link_only() -> None:
    journal = journal_of(units(), ("sglang@0.service",), ("sglang@0.service", "other"), {})
    gone = [str(path) for path in journal.paths if "sglang@0" in path.name]
    assert gone == [f"{WANTS}/sglang@0.service"]
    assert journal.ran == ("sglang@0.service",)


def test_a_staged_model_is_freed_only_if_nobody_had_it_before() -> None:
    two = units(placement=TWO, model=MODEL)
    fresh = journal_of(two, (), (), {})
    assert (fresh.stages, fresh.copies) == (("sglang-stage-tiny.service",), ("/dev/shm/m",))
    again = journal_of(two, (), (), {"sglang-stage-tiny.service": "/dev/shm/m"})
    assert (again.stages, again.copies) == ((), ())
    shared = journal_of(two, (), (), {"sglang-stage-other.service": "/dev/shm/m"})
    assert (shared.stages, shared.copies) == (("sglang-stage-tiny.service",), ())


def test_mending_touches_no_unit() -> None:
    journal = mending(units())
    assert (journal.units, journal.ran, journal.stages) == ((), (), ())
    assert journal.files


def test_no_secret_is_in_its_repr() -> None:
    (unit,) = units(secrets={"*": {"API_KEY": "sesame"}})
    assert "sesame" not in repr(journal_of([unit], (), (), {}))
