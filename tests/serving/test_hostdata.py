from pathlib import Path
from typing import Any

import pytest

from stoker.refused import Refused
from stoker.serving import hostdata

SITE = Path(__file__).parents[2]
TINY: dict[str, Any] = {"flagsets": ["sandbox-tiny"]}


def refusal(**hosts: Any) -> list[str]:
    with pytest.raises(Refused) as refused:
        hostdata.check(SITE, hosts)
    return str(refused.value).splitlines()


def test_sound_data_and_a_node_without_any_pass() -> None:
    secrets = {"*": {"API_KEY": "k"}, "sglang@0": {"HF_TOKEN": "t"}, "sglang@0.service": {"A": "b"}}
    hostdata.check(SITE, {"gpu-a": {**TINY, "secrets": secrets}, "pve1": {}})


def test_every_wrong_kind_on_every_host_is_told_at_once_and_no_secret_with_it() -> None:
    told = refusal(
        a={"flagsets": "sandbox-tiny", "secrets": {"sglang": {"API_KEY": None, "PATH": "s3cret"}}},
        b={"flagsets": None, "stop_foreign": "no", "service_user": "a user"},
        pve1={"wheel_index": {"uri": "https://me:s3cret@wheels.example"}},
    )
    assert told[0] == "cannot use the inventory; correct this host data:"
    assert [line.rpartition(": ")[0] for line in told[1:]] == [
        "a: flagsets",
        "a: secrets.sglang.API_KEY",
        "a: secrets.sglang.PATH",
        "b: flagsets",
        "b: service_user",
        "b: stop_foreign",
        "pve1: wheel_index.uri",
    ]
    assert "s3cret" not in "".join(told)


def test_two_names_of_one_container_are_refused() -> None:
    one = {**TINY, "pct_host": "pve1", "pct_vmid": 200}
    assert refusal(a=one, b=one)[1:] == ["b: is container 200 of pve1, as a is"]


def test_an_empty_key_is_no_key() -> None:
    told = refusal(a={**TINY, "secrets": {"*": {"API_KEY": ""}}})
    assert told[1].startswith("a: secrets.*.API_KEY: String should have at least 1 character")


def test_a_secret_for_a_unit_that_is_not_there_is_named_or_a_server_would_stand_open() -> None:
    told = refusal(a={**TINY, "secrets": {"sglang@9": {"API_KEY": "k"}}})
    known = "there is no such unit; there are: sglang@0, sglang@0.service"
    assert told[1] == f"a: secrets.sglang@9: {known}"


def test_flag_sets_that_cannot_live_together_are_told_before_the_hours_of_installing() -> None:
    told = refusal(a={"flagsets": ["kimi-k2.5", "kimi-k2.5-eagle3"]}, b=TINY)
    assert told[1] == "a: cannot place these flag sets on one machine; move one of each:"
    assert "port 30000 is wanted by" in "".join(told)


def test_a_flag_set_that_is_not_there_is_told_whoever_names_it() -> None:
    told = refusal(a=TINY, b={"flagsets": ["kimi"]})
    assert "kimi.yaml: there is no such flag set" in told[1]
