"""The driver's role on a container."""

from typing import Any

from pyinfra.api import Config, Inventory, State
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_inventory, ctx_state

from roles.driver import driver


def operations(data: dict[str, Any]) -> list[str]:
    inventory = Inventory((["@fake/a"], {"fake_delay": 0, "fake_delay_jitter": 0, **data}))
    state = State(inventory, Config())
    with ctx_inventory.use(inventory), ctx_state.use(state):
        add_deploy(state, driver, host=inventory.get_host("@fake/a"))
    return [next(iter(meta.names)) for meta in state.op_meta.values()]


def test_libraries_are_matched_and_packages_held_where_that_is_asked() -> None:
    match = "Driver | Match the driver's libraries to the node's module"
    assert operations({}) == operations({"driver": {"replace": True}}) == [match]
    assert operations({"driver": {"hold": True}}) == [match, "Driver | Hold the driver's packages"]
