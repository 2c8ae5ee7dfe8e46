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
from stoker.operations import service
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
    )
    return replace(running, **changed)


def facts(deployment: Deployment, **changed: Any) -> dict[Any, Any]:
    """Of a machine where all is as wanted; `changed` is for every server."""
    units = deployment.units("3.11")
    files = files_of(units)
    return {
        Interpreter: DEBIAN,
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


def test_on_a_bare_machine_every_file_is_written_beside_and_renamed_then_enabled() -> None:
    commands, _ = defined(wanted(), {Interpreter: DEBIAN})
    told = words(commands)
    env, unit = "/etc/stoker/sglang.env", f"{UNITS}/sglang.service"
    first = told.index(f"install -m 0600 -- /dev/null {env}.stoker-new")
    assert told[first + 1 : first + 3] == [
        f"upload {env}.stoker-new",
        f"mv -fT -- {env}.stoker-new {env}",
    ]
    assert told.index(f"mv -fT -- {env}.stoker-new {env}") < told.index(f"upload {unit}.stoker-new")
    assert told[-3:] == [
        "systemctl daemon-reload",
        "systemctl try-restart systemd-journald.service",
        "systemctl enable --quiet sglang.service",
    ]


def test_a_second_time_nothing_is_done() -> None:
    deployment = wanted(secrets={"*": {"API_KEY": "k"}})
    for operation in (defined, serving):
        commands, noops = operation(deployment, facts(deployment))
        assert (commands, len(noops)) == ([], 1)


def test_only_the_file_that_differs_is_written() -> None:
    deployment = wanted(placement={"layout": "one-per-gpu", "gpus": (0, 1)})
    there = facts(deployment)
    path = f"{UNITS}/sglang@1.service"
    there[FileStates] = {**there[FileStates], path: FileState("0" * 64, 0o644, "root:root")}
    commands, _ = defined(deployment, there)
    uploads = [c.dest for c in commands if isinstance(c, FileUploadCommand)]
    assert uploads == [f"{path}.stoker-new"]
    assert words(commands)[-1] == "systemctl daemon-reload"


def test_an_environment_file_that_others_may_read_is_written_anew() -> None:
    deployment = wanted()
    there = facts(deployment)
    path = "/etc/stoker/sglang.env"
    there[FileStates][path] = replace(there[FileStates][path], mode=0o644)
    commands, _ = defined(deployment, there)
    assert f"install -m 0600 -- /dev/null {path}.stoker-new" in words(commands)
    assert "systemctl daemon-reload" not in words(commands)


def test_a_run_that_died_before_the_reload_is_healed() -> None:
    deployment = wanted()
    commands, _ = defined(deployment, facts(deployment, needs_reload=True))
    assert words(commands) == ["systemctl daemon-reload"]


def test_units_and_staged_models_nobody_wants_any_more_are_stopped_and_removed() -> None:
    model = {"path": "/dev/shm/m", "staged_from": "/data/m"}
    old = wanted(placement={"layout": "one-per-gpu", "gpus": (0, 1)}, model=model)
    there = facts(old)
    commands, _ = defined(Deployment(()), there)
    told = words(commands)
    units = "sglang@0.service sglang@1.service sglang-stage-tiny.service"
    assert told[0] == f"take_down [{tuple(units.split())}]"
    assert told[1].endswith("' sh /dev/shm/m")
    wants = "/etc/systemd/system/multi-user.target.wants"
    assert all(f"{wants}/{unit}" in told[2] for unit in units.split())
    assert f"{UNITS}/sglang-stage-tiny.service" in told[2]
    assert told[3:] == ["systemctl daemon-reload"]


@pytest.mark.parametrize(("mark", "left"), [(".staged", []), ("config.json", ["m"])])
def test_only_a_copy_with_our_mark_is_freed(tmp_path: Path, mark: str, left: list[str]) -> None:
    for name in ("m", "m.partial"):
        (tmp_path / name).mkdir()
    (tmp_path / "m" / mark).touch()
    (command,) = service._unstaged({str(tmp_path / "m")})
    assert subprocess.run(["sh", "-c", command.get_raw_value()], check=False).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == left


def test_flag_sets_that_collide_fail_this_host_with_the_reason() -> None:
    two = Deployment(((flagset(), release()), (flagset(name="other"), release())))
    commands, _ = defined(two, {Interpreter: DEBIAN})
    (told,) = words(commands)
    assert "port 30000 is wanted by sglang.service of tiny and sglang.service of other" in told


def plan(deployment: Deployment, facts: dict[Any, Any]) -> Any:
    (command,), _ = serving(deployment, facts)
    return command.args[0]


def test_exactly_the_unit_whose_process_is_another_one_is_restarted() -> None:
    deployment = wanted(placement={"layout": "one-per-gpu", "gpus": (0, 1, 2)})
    for wrong in (
        {"running_digest": "0" * 64},
        {"words": ("python", "other")},
        {"active": "failed"},
    ):
        there = facts(deployment)
        one = there[Servers]["sglang@1.service"]
        there[Servers]["sglang@1.service"] = replace(one, **wrong)
        made = plan(deployment, there)
        assert [u.name for u in made.units] == ["sglang@1.service"]
        assert "sglang@1.service" not in made.right


def test_a_server_that_runs_the_right_thing_and_is_silent_is_followed_not_restarted() -> None:
    deployment = wanted()
    there = facts(deployment)
    there[Tokens] = {"sglang.service": Answer(0, "", "Connection refused")}
    made = plan(deployment, there)
    assert [u.name for u in made.units] == ["sglang.service"]
    assert made.right == {"sglang.service"}


def test_before_the_container_exists_both_operations_foresee_a_change() -> None:
    for operation in (defined, serving):
        commands, _ = operation(wanted(), {})
        assert len(commands) == 1
