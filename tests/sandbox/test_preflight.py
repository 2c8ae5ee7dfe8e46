"""What cannot work is refused by facts of the container itself, and the server there serves on.

A small server in SGLang's place. The tests of this file run in the order they stand in.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.sandbox.dying import Ward, ward

pytestmark = pytest.mark.sandbox
UNIT = "sglang@0.service"
GIGABYTES = 30_000
"""More than any machine has."""


def flag_set(env: dict[str, str] | None = None, **changed: Any) -> dict[str, Any]:
    return {
        "name": "one",
        "sglang": "0.5.12",
        "model": {"path": "/models/one", "served_name": "one"},
        "placement": {"layout": "one-per-gpu", "gpus": [0]},
        "port": 30000,
        "flags": {"chunked-prefill-size": 256, "context-length": 512, "max-running-requests": 4},
        "env": {"STANDIN_LOAD_S": "0.5", **(env or {})},
        "status": {"state": "reported", "by": "tests", "machine": "none", "note": "stand-in"},
        **changed,
    }


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    with ward("test-before", tmp_path_factory.mktemp("site"), [], 6, 10) as found:
        # As the role system leaves it: the container's own interpreter, and a model on disk.
        found.room.inside(
            "ln -sf python3.11 /usr/bin/python3; mkdir -p /models/one; cd /models/one; "
            'echo \'{"architectures": ["LlamaForCausalLM"]}\' > config.json; '
            "echo '{}' > tokenizer.json; printf '\\2\\0\\0\\0\\0\\0\\0\\0{}' > model.safetensors"
        )
        run = found.deploy(flag_set())
        assert run.rc == 0, run.text
        yield found


def process(at: Ward) -> list[str]:
    """Its process, since when it runs, and what its file says."""
    text = at.room.inside(f"sha256sum /usr/local/lib/systemd/system/{UNIT}")
    return [*at.shown(UNIT, "MainPID", "ExecMainStartTimestampMonotonic"), text]


IMPOSSIBLE = {
    "an option of another program": (
        {"flags": {"num-speculative-tokens": 16}},
        ["flag_unknown: ", "--speculative-num-draft-tokens"],
    ),
    "more host memory than there is": (
        {"flags": {"enable-hierarchical-cache": True, "hicache-size": GIGABYTES}},
        ["host_ram_short: ", f"1 x {GIGABYTES} = {GIGABYTES} GB", "nothing was touched"],
    ),
    "a model that is not there": (
        {"model": {"path": "/models/none", "served_name": "one"}},
        ["model_missing: /models/none is not there", "nothing was touched"],
    ),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_work_is_refused_and_the_server_is_not_touched(at: Ward, what: str) -> None:
    changed, told = IMPOSSIBLE[what]
    before = process(at)
    run = at.deploy(flag_set(**changed))
    assert run.rc == 1, run.text
    assert all(words in run.text for words in told), run.text
    assert "Traceback" not in run.text
    assert process(at) == before
    assert at.site.status()[UNIT]["state"] == "serving"


def test_what_nobody_has_measured_needs_to_be_asked_for(at: Ward) -> None:
    before = process(at)
    run = at.site.deploy("candidate=no", at.wants(flag_set({"ROUND": "1"})))
    assert run.rc == 1, run.text
    assert "try it as a candidate: --data candidate=yes" in run.text
    assert process(at) == before


def test_a_server_that_runs_unchanged_is_not_failed_for_its_state(at: Ward) -> None:
    before = process(at)
    run = at.site.deploy("candidate=no", at.wants(flag_set()))
    assert (run.rc, run.changed) == (0, 0), run.text
    assert process(at) == before


def test_a_server_that_serves_is_measured_where_it_is_when_asked_for(at: Ward) -> None:
    evidence = at.site.path / "group_data/flagsets/evidence/one.yaml"
    evidence.unlink()
    before = process(at)
    quiet = at.site.deploy("candidate=no", at.wants(flag_set()))
    assert (quiet.rc, quiet.changed) == (0, 0), quiet.text
    assert "one serves, but it is only reported (by tests)" in quiet.text
    assert at.deploy(flag_set()).rc == 0
    assert "records:" in evidence.read_text()
    assert process(at) == before
    again = at.deploy(flag_set())
    assert (again.rc, again.changed) == (0, 0), again.text
