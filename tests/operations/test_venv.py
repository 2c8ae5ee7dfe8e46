"""Venvs are built offline from the node's wheels, whole or not at all."""

import subprocess
from dataclasses import replace
from pathlib import Path

from stoker.facts.interpreter import Distribution
from stoker.facts.venvs import Venv, Venvs, VenvsState
from stoker.facts.wheel_store import Store, WheelStore
from stoker.operations import venv
from stoker.serving import layout
from tests.operations import locks
from tests.operations.given import Given, commands, run

LOCK = locks.made()
NAME = layout.venv_path(LOCK).name
PATH = f"/opt/stoker/venvs/{NAME}"
STORE = Store({wheel.file: wheel.size_bytes for wheel in LOCK.wheels}, 10**12)
EMPTY = VenvsState(Distribution("debian", "12"), free_bytes=10**12)
UV = (
    "sh -c 'umask 022 && exec \"$@\"' sh /opt/stoker/uv/0.13.9/uv {} --no-config --offline "
    "--no-python-downloads --quiet --cache-dir /opt/stoker/venvs/.cache {}"
)


def finished(name: str, made: int = 1) -> Venv:
    return Venv(name, made, frozenset({".complete"}))


def host(state: VenvsState, store: Store = STORE) -> Given:
    return Given({Venvs: state, WheelStore: store})


def synced(given: Given) -> list[object]:
    return [*run(venv.synced, given, releases=[locks.release()], tool=locks.UV, kept=3)]


def removal(name: str) -> str:
    return (
        'sh -c \'rm -f -- "$1/.complete" && rm -rf -- "$1" "$2"\' sh '
        f"/opt/stoker/venvs/{name} /var/cache/stoker/{name}"
    )


def test_a_venv_is_made_in_place_synced_offline_and_marked_last() -> None:
    assert synced(host(EMPTY)) == [
        "install -d -m 0755 /opt/stoker/venvs",
        UV.format("venv", f"--python /usr/bin/python3.11 {PATH}"),
        UV.format(
            "pip sync",
            "--no-index --find-links /var/lib/stoker/wheels --require-hashes --link-mode hardlink "
            f"--python {PATH}/bin/python -",
        ),
        "sh -c 'umask 022 && exec \"$@\"' sh "
        f"{PATH}/bin/python -m compileall -q -j 0 {PATH}/lib/python3.11/site-packages/sglang",
        'sh -c \'umask 022 && printf "%s\\n" "$2" > "$1.new" && mv -f -- "$1.new" "$1"\' sh '
        f"{PATH}/.complete 'cp311 {LOCK.digest}'",
        "rm -rf /opt/stoker/venvs/.cache",
    ]


def test_the_locks_hashes_reach_uv_by_stdin() -> None:
    given = host(EMPTY)
    sync = commands(venv.synced, given, releases=[locks.release()], tool=locks.UV, kept=3)[2]
    assert sync.connector_arguments["_stdin"] == LOCK.requirements
    assert LOCK.requirements.count(" --hash=sha256:") == 3


def test_a_finished_venv_is_left_alone() -> None:
    assert synced(host(replace(EMPTY, venvs=(finished(NAME),)))) == []


def test_a_venv_without_its_mark_is_swept_and_built_anew() -> None:
    half = replace(EMPTY, venvs=(Venv(NAME, 1, frozenset()),), cache=True)
    done = synced(host(half))
    assert done[0] == removal(NAME)
    assert len(done) == 7


def test_what_an_interruption_left_of_uvs_cache_is_removed() -> None:
    left = replace(EMPTY, venvs=(finished(NAME),), cache=True)
    assert synced(host(left)) == ["rm -rf /opt/stoker/venvs/.cache"]


def test_of_other_venvs_those_in_use_stay_and_so_many_of_the_newest() -> None:
    """Used: by a unit on disk, by the journal of a switch, or by a process."""
    olds = tuple(finished(f"sglang-0.5.9-{n}", n) for n in range(1, 7))
    used = frozenset({"sglang-0.5.9-1", "sglang-0.5.9-6"})
    state = replace(EMPTY, venvs=(*olds, finished(NAME, 9)), used=used)
    assert synced(host(state)) == [removal("sglang-0.5.9-2")]
    given = host(state)
    none = run(venv.synced, given, releases=[locks.release()], tool=locks.UV, kept=0)
    assert none == [removal(f"sglang-0.5.9-{n}") for n in (5, 4, 3, 2)]


def test_compiled_kernels_without_a_venv_are_thrown_away() -> None:
    state = replace(EMPTY, venvs=(finished(NAME),), orphans=("sglang-0.5.9-1",))
    assert synced(host(state)) == ["rm -rf /var/cache/stoker/sglang-0.5.9-1"]


def test_a_store_that_lacks_wheels_is_named_with_what_it_lacks() -> None:
    (answer,) = synced(host(EMPTY, Store({LOCK.wheels[0].file: 10}, 0)))
    assert answer == (
        "refused",
        "cannot install SGLang: /var/lib/stoker/wheels lacks 2 of 3 wheels "
        "(sglang-0.5.12-cp311-cp311-linux_x86_64.whl ...); the node fetches and mounts them, so "
        "have it in the run too and see what it says; a mount point that is still pending needs a "
        "restart of the container",
    )


def test_too_little_room_is_said_with_the_sum_before_anything_is_done() -> None:
    big = locks.made(torch_bytes=4_000_000_000)
    store = Store({wheel.file: wheel.size_bytes for wheel in big.wheels}, 0)
    given = host(replace(EMPTY, free_bytes=5_000_000_000), store)
    release = locks.release(torch_bytes=4_000_000_000)
    assert run(venv.synced, given, releases=[release], tool=locks.UV, kept=3) == [
        (
            "refused",
            "cannot install SGLang 0.5.12: it needs 10.40 GB, /opt/stoker/venvs has 5.00 GB free; "
            "make 5.40 GB free or enlarge the root file system",
        )
    ]


def test_an_unknown_distribution_and_an_unreadable_host_are_refused() -> None:
    (alpine,) = synced(host(replace(EMPTY, distribution=Distribution("alpine", "3.20"))))
    assert "cannot install SGLang on alpine 3.20: Stoker knows debian 12," in alpine[1]  # type: ignore[index]
    (nothing,) = synced(host(VenvsState()))
    assert "gpu-a has no /etc/os-release" in nothing[1]  # type: ignore[index]


def test_a_removal_that_is_interrupted_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    ruin = tmp_path / NAME
    ruin.mkdir()
    (ruin / ".complete").touch()
    words = venv.removed(NAME).get_raw_value().replace("/opt/stoker/venvs", str(tmp_path))
    # `rm -rf` that does not come to its end: the mark is gone before it starts.
    stopped = words.replace("rm -rf --", "false --")
    assert subprocess.run(["sh", "-c", stopped], check=False).returncode == 1
    assert (ruin.is_dir(), (ruin / ".complete").exists()) == (True, False)


def test_a_mark_is_written_at_once(tmp_path: Path) -> None:
    words = venv.marked(tmp_path / "a mark", "cp311 'x' $y").get_raw_value()
    subprocess.run(["sh", "-c", words], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a mark"]
    assert (tmp_path / "a mark").read_text() == "cp311 'x' $y\n"
