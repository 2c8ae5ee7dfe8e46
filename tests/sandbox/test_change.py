"""Eight servers, and changes of them that fail in every way: seven always serve, the eighth again.

Small servers in SGLang's place; test_main_job.py has a real one. The tests of this file are one
story and run in the order they stand in.
"""

import itertools
import os
import random
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from stoker.sandbox import state as states
from tests.sandbox.asking import Clients
from tests.sandbox.dying import Ward, ward

pytestmark = pytest.mark.sandbox
INSTANCE = "test-change"
LEASE_S, IDLE_S = 10, 20
BACK_S = LEASE_S + 30
"""Until a run that was killed is missed, what it did is put back, and a server has loaded; on a
machine that is busy with other tests."""
ALL = range(8)
UNITS = [f"sglang@{gpu}.service" for gpu in ALL]
GOOD = {"STANDIN_LOAD_S": "0.5", "STANDIN_TOKENS_PER_S": "3000"}
"""With a pace of its own, so that what it measures does not hang on who else is at work here."""


def flag_set(env: dict[str, str], **changed: Any) -> dict[str, Any]:
    """One flag set for all eight."""
    return {
        "name": "eight",
        "sglang": "0.5.12",
        "model": {"path": "/models/sandbox-tiny", "served_name": "tiny"},
        "placement": {"layout": "one-per-gpu", "gpus": [*ALL]},
        "host": "0.0.0.0",
        "port": 30000,
        "flags": {"chunked-prefill-size": 256, "context-length": 512, "max-running-requests": 4},
        "env": {**GOOD, **env},
        "status": {"state": "reported", "by": "tests", "machine": "none", "note": "stand-in"},
        **changed,
    }


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with ward(INSTANCE, tmp_path_factory.mktemp("site"), [], IDLE_S, LEASE_S) as found:
        run = found.deploy(flag_set({}))
        assert run.rc == 0, run.text
        yield found


@pytest.fixture
def clients(at: Ward) -> Iterator[Clients]:
    address = states.load(INSTANCE).containers[0].address
    with Clients(f"http://{address}:{30000 + gpu}" for gpu in ALL) as found:
        found.until_all_answer(30)
        yield found


def digests(at: Ward) -> dict[str, str]:
    """What each unit's process carries."""
    script = "".join(
        f"pid=$(systemctl show -p MainPID --value {unit}); "
        f"echo {unit} $(tr '\\0' '\\n' </proc/$pid/environ | sed -n s/^STOKER_DIGEST=//p); "
        for unit in UNITS
    )
    return dict(line.split() for line in at.room.inside(script).splitlines())


def under_way(at: Ward) -> bool:
    """Whether there is a switch that nobody has confirmed or undone."""
    return bool(at.room.inside("ls -d /var/lib/stoker/switch 2>/dev/null", check=False))


def with_flags(**flags: Any) -> dict[str, Any]:
    """The same with flags added; `_` stands for `-`."""
    new = {name.replace("_", "-"): value for name, value in flags.items()}
    return flag_set({}, flags={**flag_set({})["flags"], **new})


REFUSED = {
    "a bad flag": (with_flags(num_speculative_tokens=16), "speculative-num-draft-tokens"),
    "an impossible budget": (
        with_flags(enable_hierarchical_cache=True, hicache_size=300),
        "host_ram_short",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_and_nobody_notices(
    at: Ward, clients: Clients, case: str
) -> None:
    before = at.site.status()
    flagset, told = REFUSED[case]
    run = at.deploy(flagset)
    assert run.rc == 1, run.text
    assert told in run.text, run.text
    assert clients.missed == {}
    assert at.site.status() == before


def test_what_nobody_has_measured_is_not_tried_unasked(at: Ward, clients: Clients) -> None:
    wanted = at.wants(flag_set({"ROUND": "unasked"}))
    run = at.site.deploy(wanted, "candidate=no")
    assert run.rc == 1, run.text
    assert "--data candidate=yes" in run.text
    assert clients.missed == {}


WAYS = [
    ("die", "Not enough memory"),
    ("idle", "no log line and no work for"),
    ("mute", "answered without a token"),
    ("burst", "prefill burst"),
]


@pytest.mark.parametrize(("mode", "told"), WAYS, ids=[mode for mode, _ in WAYS])
def test_a_candidate_that_fails_is_rolled_back_and_seven_lose_nothing(
    at: Ward, clients: Clients, mode: str, told: str
) -> None:
    before = digests(at)
    run = at.deploy(flag_set({"STANDIN_MODE": mode}))
    assert run.rc == 1, run.text
    assert told in run.text, run.text
    assert "put back: sglang@0.service answers again, as before this run" in run.text
    assert "not touched: sglang@1.service, " in run.text
    clients.until_all_answer(1)
    assert digests(at) == before
    assert set(clients.missed) == {0}
    assert not under_way(at)


def test_a_good_candidate_goes_through_all_one_at_a_time(at: Ward, clients: Clients) -> None:
    before = digests(at)
    run = at.deploy(flag_set({"ROUND": "1"}))
    assert run.rc == 0, run.text
    after = digests(at)
    assert all(after[unit] != before[unit] for unit in UNITS)
    gaps = sorted(clients.gaps())
    assert all(first[1] < then[0] for first, then in itertools.pairwise(gaps))
    again = at.deploy(flag_set({"ROUND": "1"}))
    assert (again.rc, again.changed) == (0, 0), again.text


def test_a_run_killed_at_any_moment_leaves_what_is_proved_and_the_next_one_completes(
    at: Ward, clients: Clients
) -> None:
    seed = int(os.environ.get("STOKER_TEST_SEED", time.time()))
    print(f"STOKER_TEST_SEED={seed}")
    moments = random.Random(seed)
    before, wanted = digests(at), at.wants(flag_set({"ROUND": "2"}))
    for _ in range(3):
        after_s = moments.uniform(0, 8)
        at.site.deploy_and_kill_in("Bring the servers to their first token", after_s, wanted)
        print(f"killed after {after_s:.1f} s, served again after", end=" ")
        print(f"{clients.until_all_answer(BACK_S):.1f} s")
        until = time.monotonic() + BACK_S
        while under_way(at):
            assert time.monotonic() < until
            time.sleep(0.5)
        clients.until_all_answer(BACK_S)
    run = at.site.deploy(wanted)
    assert run.rc == 0, run.text
    after = digests(at)
    assert all(after[unit] != before[unit] for unit in UNITS)
    gaps = sorted(clients.gaps())
    assert len(gaps) <= 8


def begun(at: Ward, flagset: dict[str, Any]) -> subprocess.Popen[str]:
    """A run that is in the middle of a switch."""
    wanted = at.wants(flagset)
    run = subprocess.Popen(
        at.site.words(wanted), cwd=at.site.path, env=at.site.environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    began = time.monotonic()
    while not under_way(at) or at.shown(UNITS[0], "ActiveState") != ["active"]:
        assert time.monotonic() - began < 60
        time.sleep(0.2)
    return run


def test_a_reboot_in_the_middle_brings_back_the_server_before(at: Ward) -> None:
    before = digests(at)
    run = begun(at, flag_set({"STANDIN_MODE": "idle"}))
    at.site.node("pct stop 200 && pct start 200")
    text, _ = run.communicate(timeout=60)
    assert run.returncode != 0, text
    address = states.load(INSTANCE).containers[0].address
    with Clients(f"http://{address}:{30000 + gpu}" for gpu in ALL) as clients:
        clients.until_all_answer(60)
    assert digests(at) == before
    assert not under_way(at)


def whole(mode: str) -> dict[str, Any]:
    """One server over all eight GPUs; the model has four heads, hence two stages."""
    placement = {"layout": "tensor-parallel", "gpus": [*ALL]}
    flags = {**flag_set({})["flags"], "pp-size": 2}
    return flag_set({"STANDIN_MODE": mode}, name="whole", placement=placement, flags=flags)


def test_one_for_all_gpus_that_dies_leaves_all_eight_as_they_were(at: Ward) -> None:
    before = digests(at)
    run = at.deploy(whole("die"))
    assert run.rc == 1, run.text
    assert f"put back: {', '.join(UNITS)} answer again, as before this run" in run.text
    assert "undone: sglang.service was not there before this run, and is gone again" in run.text
    assert digests(at) == before
    assert served(at) == {*UNITS}


def served(at: Ward) -> set[str]:
    """Units that are there, all of them serving."""
    rows = [row for row in at.site.status().values() if row["unit"]]
    assert {row["state"] for row in rows} == {"serving"}
    return {str(row["unit"]) for row in rows}


def test_one_for_all_gpus_takes_their_place_and_they_take_it_back(at: Ward) -> None:
    run = at.deploy(whole(""))
    assert run.rc == 0, run.text
    assert served(at) == {"sglang.service"}
    back = at.deploy(flag_set({"ROUND": "2"}))
    assert back.rc == 0, back.text
    assert served(at) == {*UNITS}
