"""Which containers have their GPUs opened."""

from typing import Any

import pytest
from pyinfra.api import Config, DeployError, Inventory, State
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_inventory, ctx_state

from roles import gpus
from stoker.container.wanted import Wanted
from tests.container.cards import FIRST

CT = "@fake/gpu-a"


def asked(monkeypatch: pytest.MonkeyPatch, **data: Any) -> dict[str, Any]:
    """What `usable` is asked; nothing: it is not called."""
    inventory = Inventory(([CT], {"fake_delay": 0, "fake_delay_jitter": 0, **data}))
    called: dict[str, Any] = {}
    monkeypatch.setattr(gpus.operations, "usable", lambda **words: called.update(words))
    state = State(inventory, Config())
    with ctx_inventory.use(inventory), ctx_state.use(state):
        add_deploy(state, gpus.gpus, host=inventory.get_host(CT))
    return called


def test_its_gpus_are_opened_as_the_service_user(monkeypatch: pytest.MonkeyPatch) -> None:
    called = asked(monkeypatch, container={"gpus": [FIRST.uuid]}, service_user="llm")
    assert called["wanted"] == Wanted.of({"gpus": [FIRST.uuid]})
    assert called["account"] == "llm"


def test_the_defaults_of_a_site_count(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, container={}, container_defaults={"gpus": "all"})
    assert asked(monkeypatch, container={"gpus": "all"})["account"] == "sglang"


@pytest.mark.parametrize("data", [{}, {"container": {}}, {"container": {"gpus": []}}])
def test_nothing_is_opened_where_no_gpus_are_declared(
    data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked(monkeypatch, **data) == {}


def test_data_that_makes_no_sense_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeployError, match="is a minor number"):
        asked(monkeypatch, container={"gpus": [0]})
