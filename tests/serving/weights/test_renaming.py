"""A draft's copy under the right names: whole, once, and never over what is somebody else's."""

import json
import os
import shutil
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stoker.serving.inside import rename_draft
from stoker.serving.weights.renaming import renamed
from tests.serving.weights import given as make
from tests.serving.weights.given import looked


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = make.draft(tmp_path / "trained", make.draft_shapes("layers.0."))
    made.joinpath("README.md").write_text("words")
    return made


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "drafts" / "renamed"


def act(source: Path, copy: Path) -> dict[str, Any]:
    return rename_draft.main(source, copy, act=True)


def tensors(path: Path) -> dict[str, bytes]:
    """Name -> bytes of every tensor of a file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    body = data[8 + length :]
    return {k: body[slice(*one["data_offsets"])] for k, one in header.items()}


def held(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_the_copy_has_the_right_names_and_the_same_bytes(source: Path, copy: Path) -> None:
    before = held(source)
    assert act(source, copy) == {"state": "right", "renamed": 10, "error": None}
    assert held(source) == before
    old = tensors(source / "model.safetensors")
    new = tensors(copy / "model.safetensors")
    assert set(new) == set(make.draft_shapes("midlayer."))
    assert {k.replace("layers.0.", "midlayer."): v for k, v in old.items()} == new
    assert (copy / "README.md").read_text() == "words"
    assert looked(copy).files.broken == ()


def test_a_second_run_changes_nothing(source: Path, copy: Path) -> None:
    act(source, copy)
    before = {path: path.stat().st_mtime_ns for path in [copy, *copy.iterdir()]}
    assert act(source, copy) == {"state": "right", "renamed": 0, "error": None}
    assert {path: path.stat().st_mtime_ns for path in [copy, *copy.iterdir()]} == before


def test_a_source_trained_anew_is_copied_anew(source: Path, copy: Path) -> None:
    act(source, copy)
    make.draft(source, {**make.draft_shapes("layers.0."), "extra": (3,)})
    assert rename_draft.main(source, copy, act=False)["state"] == "stale"
    act(source, copy)
    assert "extra" in tensors(copy / "model.safetensors")
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]


def test_a_copy_outlives_its_source(source: Path, copy: Path) -> None:
    act(source, copy)
    shutil.rmtree(source)
    assert act(source, copy)["state"] == "right"


def test_shards_and_their_index_are_renamed_together(source: Path, copy: Path) -> None:
    names = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    (source / "model.safetensors").unlink()
    layer, rest = make.layer_of("model.layers.0."), {"model.fc.weight": (8, 24)}
    for name, shapes in zip(names, (layer, rest), strict=True):
        (source / name).write_bytes(make.tensors(shapes))
    weight_map = dict.fromkeys(layer, names[0]) | dict.fromkeys(rest, names[1])
    (source / rename_draft.INDEX).write_text(json.dumps({"weight_map": weight_map}))
    assert act(source, copy)["error"] is None
    index = json.loads((copy / rename_draft.INDEX).read_text())["weight_map"]
    assert index == dict.fromkeys(make.layer_of("midlayer."), names[0]) | {"fc.weight": names[1]}
    assert looked(copy).files.broken == ()


def test_everybody_can_read_the_copy(source: Path, copy: Path) -> None:
    old = os.umask(0o077)
    try:
        act(source, copy)
    finally:
        os.umask(old)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in copy.iterdir()}
    assert (modes, stat.S_IMODE(copy.stat().st_mode)) == ({0o644}, 0o755)


def test_a_directory_that_is_not_ours_stays_as_it_is(source: Path, copy: Path) -> None:
    make.draft(copy)
    before = held(copy)
    assert "is there and is not ours" in act(source, copy)["error"]
    assert held(copy) == before


def test_a_full_disk_is_told_before_anything_is_written(
    source: Path, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1, 1, 0))  # type: ignore[attr-defined]
    assert "make room" in act(source, copy)["error"]
    assert not copy.exists()


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (make.draft_shapes("midlayer."), "have the right names"),
        ({**make.draft_shapes("layers.0."), **make.layer_of("layers.1.")}, "more than one layer"),
        ({**make.layer_of("layers.0."), **make.layer_of("midlayer.")}, "two of its tensors"),
        ({"lm_head.weight": (2, 2)}, "no one beginning"),
    ],
)
def test_what_cannot_be_renamed_is_refused_with_the_reason(
    tmp_path: Path, copy: Path, shapes: make.Shapes, said: str
) -> None:
    source = make.draft(tmp_path / "trained", shapes)
    answer = act(source, copy)
    assert answer["error"].startswith(f"cannot rename {source}: ")
    assert said in answer["error"]
    assert not copy.exists()


def test_a_source_that_is_cut_short_is_not_copied(source: Path, copy: Path) -> None:
    path = source / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    assert "not as long as its header says" in act(source, copy)["error"]
    path.write_bytes(b"")
    assert "no safetensors header" in act(source, copy)["error"]
    assert "no such directory" in act(source / "none", copy)["error"]


class KilledError(BaseException):
    """Nobody catches it: all that a run does after it is not done."""


@pytest.mark.parametrize("stale", [False, True])
@pytest.mark.parametrize("moment", range(14))
def test_killed_anywhere_it_leaves_an_old_copy_or_none_and_the_next_run_is_right(
    source: Path, copy: Path, monkeypatch: pytest.MonkeyPatch, moment: int, stale: bool
) -> None:
    if stale:
        act(source, copy)
        make.draft(source, {**make.draft_shapes("layers.0."), "extra": (3,)})
    done = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*words: Any, **more: Any) -> Any:
            nonlocal done
            done += 1
            if done > moment:
                raise KilledError
            return real(*words, **more)

        return step

    with monkeypatch.context() as patched:
        for name in ("mkdir", "rename", "write_text"):
            patched.setattr(Path, name, counted(getattr(Path, name)))
        for name in ("written", "synced"):
            patched.setattr(rename_draft, name, counted(getattr(rename_draft, name)))
        try:
            act(source, copy)
        except KilledError:
            if copy.exists():
                assert set(make.layer_of("midlayer.")) < set(tensors(copy / "model.safetensors"))
    assert act(source, copy)["error"] is None
    assert len(tensors(copy / "model.safetensors")) == 16 + stale
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]


def test_a_draft_can_be_checked_as_its_copy_will_be(source: Path, copy: Path) -> None:
    draft = renamed(looked(source).draft, str(copy))
    act(source, copy)
    real = looked(copy).draft
    assert (draft.keys, draft.shapes, draft.files.path) == (real.keys, real.shapes, str(copy))
    right = make.draft(source.parent / "right")
    assert renamed(looked(right).draft, str(copy)) == looked(right).draft
