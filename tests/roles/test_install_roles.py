"""Which operations the installing roles call, in which order, on which hosts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api import Config, Inventory, State
from pyinfra.api.deploy import add_deploy
from pyinfra.context import ctx_inventory, ctx_state

from roles import cuda, draft, sglang, system, uv, venv, wheels
from stoker.serving import lock, selection
from stoker.serving.lock import Release

LOCKS = Path(__file__).parents[2] / "locks"


@pytest.fixture(autouse=True)
def _one_release(monkeypatch: pytest.MonkeyPatch) -> None:
    def releases(root: Path, flagsets: Any) -> list[Release]:
        assert list(flagsets) == ["qwen"]
        return [lock.load(LOCKS, "0.5.12")]

    monkeypatch.setattr(selection, "releases", releases)


def lab() -> tuple[Inventory, State]:
    """A node and a container of its own, and one of another node."""
    container = {"pct_host": "@fake/pve1", "pct_vmid": 200, "flagsets": ["qwen"]}
    elsewhere = container | {"pct_host": "@fake/pve2", "pct_vmid": 300}
    data = {"service_user": "sglang", "fake_delay": 0, "fake_delay_jitter": 0}
    inventory = Inventory(
        (["@fake/pve1", "@fake/a", "@fake/b"], data),
        pve=(["@fake/pve1"], {}),
        inference=([("@fake/a", container), ("@fake/b", elsewhere)], {}),
    )
    state = State(inventory, Config())
    return inventory, state


def operations(name: str, *roles: Callable[[], Any]) -> list[str]:
    """Names of the operations that these roles queue on a host, in order."""
    inventory, state = lab()
    with ctx_inventory.use(inventory), ctx_state.use(state):
        for role in roles:
            add_deploy(state, role, host=inventory.get_host(name))
    return [next(iter(meta.names)) for meta in state.op_meta.values()]


def test_the_installation_of_a_container_in_order() -> None:
    roles = (system.system, uv.uv, venv.venv, cuda.cuda, sglang.sglang)
    assert operations("@fake/a", *roles) == [
        "System | Install the interpreter and the compilers",
        "System | Make the service user",
        "uv | Place the pinned uv",
        "Venv | Build the venvs from their locks",
        "CUDA | Complete the CUDA tree",
        "CUDA | Prove CUDA by compiling a kernel",
        "SGLang | Prove that the server starts",
    ]


def test_the_node_fetches_and_mounts_before_any_container_goes_on() -> None:
    assert operations("@fake/pve1", wheels.wheels) == [
        "Wheels | Wait for the containers",
        "Wheels | Fetch the wheels that this node's containers need",
        "Wheels | Mount the wheels into the containers",
        "Wheels | Wait for the wheels",
    ]
    assert operations("@fake/a", wheels.wheels) == [
        "Wheels | Wait for the containers",
        "Wheels | Wait for the wheels",
    ]


def test_a_node_serves_its_own_containers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(wheels.operations, "present", lambda **words: asked.update(words))
    monkeypatch.setattr(wheels.operations, "mounted", lambda **words: asked.update(words))
    operations("@fake/pve1", wheels.wheels)
    assert (list(asked["releases"]), asked["vmids"]) == (["@fake/a"], [200])


def test_every_distribution_that_has_a_lock_has_its_packages() -> None:
    from stoker.facts.interpreter import PYTHONS

    assert set(system.PACKAGES) == set(PYTHONS)
    for key, python in PYTHONS.items():
        assert {f"python{python}", f"python{python}-dev", "gcc", "g++", "libnuma1"} <= {
            *system.PACKAGES[key]
        }


def test_ubuntu_24_04_gets_its_own_names() -> None:
    assert system.PACKAGES[("ubuntu", "24.04")] == [
        *("ca-certificates", "gcc", "g++", "libc6-dev", "libnuma1"),
        *("python3.12", "python3.12-dev"),
    ]


def test_a_draft_is_renamed_only_where_a_flag_set_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[tuple[str, str]] = []
    monkeypatch.setattr(selection, "renamed_drafts", lambda root, flagsets: copies)
    assert operations("@fake/a", draft.draft) == []
    copies.append(("/d/x", "/d/y"))
    (name,) = operations("@fake/a", draft.draft)
    assert name == "Draft | Give drafts the tensor names that SGLang loads"
