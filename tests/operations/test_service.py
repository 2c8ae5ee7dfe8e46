import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api import FileUploadCommand

from stoker.facts.files import FileState, FileStates
from stoker.facts.interpreter import Distribution, Interpreter
from stoker.facts.servers import Server, Servers
from stoker.facts.staging import Stages
from stoker.facts.startup import Answer, Tokens
from stoker.facts.switch import Switch, SwitchState
from stoker.facts.timers import Timer, TimerState
from stoker.operations import measuring, preflight, removal, service
from stoker.operations.standing import machine
from stoker.serving.changing.planning import Plan, Step
from stoker.serving.deployment import Deployment
from stoker.serving.rendering import digest, files_of
from stoker.serving.unit import Unit
from tests.operations.hosts import here, words
from tests.serving.flagsets import flagset
from tests.serving.locks import release

DEBIAN = Distribution("debian", "12")
UNITS = "/usr/local/lib/systemd/system"


def wanted(**changed: Any) -> Deployment:
    secrets = changed.pop("secrets", {})
    return Deployment(((flagset(**changed), release()),), secrets=secrets)


def server(unit: Unit, **changed: Any) -> Server:
    running = Server(
        unit=unit.name,
        load="loaded",
        active="active",
        sub="running",
        main_pid=7,
        since=None,
        restarts=0,
        result="success",
        invocation="i",
        enabled=True,
        needs_reload=False,
        running_digest=digest(unit),
        disk_digest=digest(unit),
        words=unit.argv,
        flagset=unit.flagset,
        sglang=unit.sglang,
        url=unit.url,
        local_url=unit.local_url,
        model=unit.model,
        python=unit.python,
        gpus=unit.gpus,
    )
    return replace(running, **changed)


def facts(deployment: Deployment, **changed: Any) -> dict[Any, Any]:
    """Of a machine where all is as wanted; `changed` is for every server."""
    units = deployment.units("3.11")
    files = files_of(units)
    return {
        Interpreter: DEBIAN,
        Timer: TimerState(known=True, enabled=True),
        FileStates: {str(f.path): FileState(f.sha256, f.mode, "root:root") for f in files},
        Servers: {u.name: server(u, **changed) for u in units},
        Stages: {u.stage.name: u.stage.destination for u in units if u.stage},
        Tokens: {u.name: Answer(1, "fire", None) for u in units},
    }


def defined(deployment: Deployment, facts: dict[Any, Any]) -> tuple[list[Any], list[str]]:
    with here(facts) as host:
        return list(service.defined._inner(deployment)), host.noops


def serving(deployment: Deployment, facts: dict[Any, Any]) -> tuple[list[Any], list[str]]:
    with here(facts) as host:
        return list(service.serving._inner(deployment)), host.noops


def test_on_a_bare_machine_what_units_share_is_written_and_no_unit_is() -> None:
    commands, _ = defined(wanted(), {Interpreter: DEBIAN})
    told = words(commands)
    guard = "/usr/local/lib/stoker/put_back.sh"
    first = told.index(f"install -m 0755 -- /dev/null {guard}.stoker-new")
    assert told[first + 1 : first + 3] == [
        f"upload {guard}.stoker-new",
        f"mv -fT -- {guard}.stoker-new {guard}",
    ]
    assert told[-3:] == [
        "systemctl daemon-reload",
        "systemctl try-restart systemd-journald.service",
        "systemctl enable --quiet stoker-put-back.service",
    ]
    assert not [line for line in told if "sglang@" in line or "sglang.service" in line]


def test_a_second_time_nothing_is_done() -> None:
    deployment = wanted(secrets={"*": {"API_KEY": "k"}})
    for operation in (defined, serving):
        commands, noops = operation(deployment, facts(deployment))
        assert (commands, len(noops)) == ([], 1)


def test_only_the_shared_file_that_differs_is_written() -> None:
    deployment = wanted(placement={"layout": "one-per-gpu", "gpus": (0, 1)})
    there = facts(deployment)
    path = f"{UNITS}/stoker-put-back.service"
    there[FileStates] = {**there[FileStates], path: FileState("0" * 64, 0o644, "root:root")}
    commands, _ = defined(deployment, there)
    uploads = [c.dest for c in commands if isinstance(c, FileUploadCommand)]
    assert uploads == [f"{path}.stoker-new"]
    assert words(commands)[-1] == "systemctl daemon-reload"


def test_what_serves_is_measured_where_it_is_if_that_is_asked_for_and_nobody_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deployment = wanted()
    found: dict[str, Any] = {"tiny": object()}
    monkeypatch.setattr(preflight, "unmeasured", lambda *_: found)
    with here(facts(deployment)) as host:
        (command,) = list(service.serving._inner(deployment, candidate=True))
        assert command.function is measuring.measure
        found.clear()
        assert list(service.serving._inner(deployment, candidate=True)) == []
        found["tiny"] = object()
        assert list(service.serving._inner(deployment)) == []
    assert len(host.noops) == 2
    assert all("tiny serves, but it is only reported" in line for line in host.said)


@pytest.mark.parametrize(("mark", "left"), [(".staged", []), ("config.json", ["m"])])
def test_only_a_copy_with_our_mark_is_freed(tmp_path: Path, mark: str, left: list[str]) -> None:
    for name in ("m", "m.partial"):
        (tmp_path / name).mkdir()
    (tmp_path / "m" / mark).touch()
    command = removal.unstaged(str(tmp_path / "m"))
    assert subprocess.run(["sh", "-c", command.get_raw_value()], check=False).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == left


def test_flag_sets_that_collide_fail_this_host_with_the_reason() -> None:
    two = Deployment(((flagset(), release()), (flagset(name="other"), release())))
    for operation in (defined, serving):
        commands, _ = operation(two, {Interpreter: DEBIAN})
        (told,) = words(commands)
        assert "port 30000 is wanted by sglang.service of tiny and sglang.service of other" in told


def plan(deployment: Deployment, facts: dict[Any, Any]) -> Any:
    with here(facts) as host:
        return machine(host, deployment).plan


def env_file(deployment: Deployment, there: dict[Any, Any], **changed: Any) -> None:
    (unit,) = deployment.units("3.11")
    there[FileStates][unit.env_file] = replace(there[FileStates][unit.env_file], **changed)


def test_an_environment_file_that_others_may_read_is_written_anew_and_nothing_restarted() -> None:
    deployment = wanted()
    there = facts(deployment)
    env_file(deployment, there, mode=0o644)
    assert plan(deployment, there) == Plan(mends=("sglang.service",))


def test_a_run_that_died_before_the_reload_is_healed() -> None:
    deployment = wanted()
    there = facts(deployment, needs_reload=True)
    assert plan(deployment, there).nothing
    commands, _ = serving(deployment, there)
    assert len(commands) == 1


def test_a_switch_that_was_left_open_is_a_change_to_come() -> None:
    deployment = wanted()
    commands, _ = serving(deployment, {**facts(deployment), Switch: SwitchState(open=True)})
    assert len(commands) == 1


def test_exactly_the_unit_whose_process_is_another_one_is_changed() -> None:
    deployment = wanted(placement={"layout": "one-per-gpu", "gpus": (0, 1, 2)})
    unit = "sglang@1.service"
    for wrong in ({"running_digest": "0" * 64}, {"words": ("python", "other")}):
        there = facts(deployment)
        there[Servers][unit] = replace(there[Servers][unit], **wrong)
        assert plan(deployment, there) == Plan(starts=(unit,), judged=(unit,))
        there[FileStates][f"{UNITS}/{unit}"] = FileState("0" * 64, 0o644, "root:root")
        assert plan(deployment, there) == Plan(steps=(Step((unit,)),), judged=(unit,))
    there = facts(deployment)
    there[Servers][unit] = replace(there[Servers][unit], active="failed")
    assert plan(deployment, there) == Plan(starts=(unit,))


def test_a_server_that_runs_the_right_thing_and_is_silent_is_followed_not_restarted() -> None:
    deployment = wanted()
    there = facts(deployment)
    there[Tokens] = {"sglang.service": Answer(0, "", "Connection refused")}
    with here(there) as host:
        found = machine(host, deployment)
    assert found.plan == Plan(starts=("sglang.service",))
    assert found.right == {"sglang.service"}


def test_a_unit_that_moves_still_has_the_port_and_gpus_of_its_process() -> None:
    eight = wanted(placement={"layout": "one-per-gpu", "gpus": (0, 1)})
    whole = wanted(placement={"layout": "tensor-parallel", "gpus": (0, 1)}, port=40000)
    there = facts(eight)
    names = tuple(unit.name for unit in eight.units("3.11"))
    assert plan(whole, there).steps == (Step(("sglang.service",), names),)


def test_before_the_container_exists_both_operations_foresee_a_change() -> None:
    for operation in (defined, serving):
        commands, _ = operation(wanted(), {})
        assert len(commands) == 1
