"""The two scripts of a switch, run on files of their own, with a systemctl that takes notes."""

import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stoker.serving import layout
from stoker.serving.changing.journal import Journal
from stoker.serving.rendering import INSIDE, File

OLD, NEW = "sglang@0.service", "sglang@1.service"
TOOLS = ("mkdir", "mv", "ln", "rm", "cp", "cat", "tar", "find", "systemctl", "tr", "sed", "base64")
_SYSTEMCTL = """#!/bin/sh
echo "$@" >>"$HERE/calls"
[ "$1" != show ] || cat "$HERE/pid-$5" 2>/dev/null || echo 0
"""
# Kills everything, itself too, when its number has come, before its work or after it.
_FATAL = """#!/bin/sh
n=$(($(/bin/cat "$HERE/count") + 1)); echo $n >"$HERE/count"
[ "$n" != "$FATAL" ] || [ "$FATAL_WHEN" != before ] || kill -9 0
PATH=$HERE/plain:/usr/bin:/bin %s "$@"
code=$?
[ "$n" != "$FATAL" ] || kill -9 0
exit $code
"""


@dataclass(frozen=True)
class Machine:
    """A root of its own."""

    here: Path

    @property
    def state(self) -> Path:
        return self.here / "state"

    def run(self, *words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.here}/{'fatal:' + str(self.here) + '/' if env else ''}plain:/usr/bin:/bin"
        return subprocess.run(
            ["sh", *words],
            input=stdin,
            env={"PATH": path, "HERE": str(self.here), "STOKER_STOP_S": "5", **env},
            capture_output=True,
            text=True,
            start_new_session=True,
        )

    @property
    def places(self) -> list[str]:
        return [str(self.state), f"{self.here}/run/lease"]

    def switch(self, verb: str, stdin: str = "", seconds: int = 60, **env: str) -> int:
        script = (INSIDE / "switch.sh").read_text()
        words = ("-c", script, "sh", verb, str(seconds), *self.places)
        return self.run(*words, stdin=stdin, **env).returncode

    def put_back(self, **env: str) -> int:
        script = str(INSIDE / "put_back.sh")
        return self.run(script, *self.places, str(layout.ETC), **env).returncode

    def seen(self) -> dict[str, str]:
        """Every file of the machine that a server is made of, and what it holds."""
        roots = (layout.UNITS, layout.ETC, layout.ENABLED)
        files = [p for root in roots for p in Path(root).rglob("*") if not p.is_dir()]
        return {
            str(p.relative_to(self.here)): str(p.readlink()) if p.is_symlink() else p.read_text()
            for p in files
        }

    def calls(self) -> list[str]:
        """What systemctl was asked to do."""
        text = (self.here / "calls").read_text() if (self.here / "calls").exists() else ""
        return [line for line in text.splitlines() if not line.startswith("show")]

    def forget(self) -> None:
        (self.here / "calls").unlink(missing_ok=True)


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """With one server, which runs."""
    for name in ("UNITS", "ETC", "ENABLED"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(layout, name, tmp_path / name)
    executable(tmp_path / "plain/systemctl", _SYSTEMCTL)
    executable(tmp_path / "plain/sync", "#!/bin/sh\n")
    for tool in TOOLS:
        executable(tmp_path / "fatal" / tool, _FATAL % tool)
    (tmp_path / "UNITS" / OLD).write_text("old unit")
    (tmp_path / "ETC/sglang@0.env").write_text('STOKER_DIGEST="aa11"\nKEY="old"\n')
    (tmp_path / "ETC/sglang@0.env").chmod(0o600)
    (tmp_path / "ENABLED" / OLD).symlink_to(tmp_path / "UNITS" / OLD)
    yield Machine(tmp_path)


def journal() -> Journal:
    """The old one in place, and a second one comes."""
    units = [File(layout.unit_file(name), f"new {name}") for name in (OLD, NEW)]
    env = [
        File(layout.env_file(name), 'STOKER_DIGEST="bb22"\nKEY="new"\n', 0o600)
        for name in (OLD, NEW)
    ]
    return Journal((OLD, NEW), (OLD,), (*env, *units), links=(OLD, NEW))


def running(machine: Machine, digest: str) -> subprocess.Popen[bytes]:
    """A process that carries this digest as the main one of the old unit."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)"], env={"STOKER_DIGEST": digest}
    )
    (machine.here / f"pid-{OLD}").write_text(str(process.pid))
    return process


def test_a_journal_changes_nothing_and_is_for_root_alone(machine: Machine) -> None:
    before = machine.seen()
    assert machine.switch("begin", journal().packed) == 0
    assert machine.seen() == before
    kept = [machine.state / "switch", *(machine.state / "switch").rglob("*.env")]
    assert {oct(stat.S_IMODE(p.stat().st_mode)) for p in kept} == {"0o700", "0o600"}
    assert machine.calls() == ["start stoker-put-back.timer"]


def test_what_is_confirmed_stays(machine: Machine) -> None:
    machine.switch("begin", journal().packed)
    assert (machine.switch("apply"), machine.switch("confirm")) == (0, 0)
    after = machine.seen()
    assert after[f"UNITS/{NEW}"] == f"new {NEW}"
    assert after[f"ENABLED/{NEW}"] == str(layout.unit_file(NEW))
    assert stat.S_IMODE(Path(layout.ETC / "sglang@1.env").stat().st_mode) == 0o600
    assert not (machine.state / "switch").exists()
    assert machine.put_back() == 0
    assert machine.seen() == after


def test_what_nobody_confirms_is_put_back_and_started_and_what_is_new_is_gone(
    machine: Machine,
) -> None:
    before = machine.seen()
    machine.switch("begin", journal().packed, seconds=0)
    machine.switch("apply")
    machine.forget()
    assert machine.put_back() == 0
    assert machine.seen() == before
    assert stat.S_IMODE(Path(layout.ETC / "sglang@0.env").stat().st_mode) == 0o600
    assert machine.calls() == [
        f"stop {OLD} {NEW}",
        "daemon-reload",
        f"reset-failed {OLD}",
        f"reset-failed {NEW}",
        f"reset-failed {OLD}",
        f"start --no-block {OLD}",
        "stop --no-block stoker-put-back.timer",
    ]
    _, *undone = (machine.state / "switch-undone").read_text().splitlines()
    assert undone == [OLD, NEW]


def test_while_the_run_lives_nothing_is_put_back(machine: Machine) -> None:
    machine.switch("begin", journal().packed)
    machine.switch("apply")
    after = machine.seen()
    assert machine.put_back() == 0
    assert machine.seen() == after
    machine.switch("renew", seconds=0)
    assert machine.put_back() == 0
    assert machine.seen() != after


def test_a_reboot_takes_the_lease_away(machine: Machine) -> None:
    before = machine.seen()
    machine.switch("begin", journal().packed)
    machine.switch("apply")
    (machine.here / "run/lease").unlink()
    assert machine.put_back() == 0
    assert machine.seen() == before


def test_a_server_that_was_not_stopped_yet_is_not_stopped_and_runs_on_if_it_was_asked_to_end(
    machine: Machine,
) -> None:
    process = running(machine, "aa11")
    try:
        machine.switch("begin", journal().packed, seconds=0)
        machine.switch("apply")
        machine.forget()
        machine.put_back()
        # Its stop may take longer than the lease; a start is nothing to one that is up.
        calls = [call for call in machine.calls() if OLD in call]
        assert calls == [f"reset-failed {OLD}", f"start --no-block {OLD}"]
    finally:
        process.kill()
        process.wait()


def test_a_candidate_under_the_old_name_is_stopped(machine: Machine) -> None:
    process = running(machine, "bb22")
    try:
        machine.switch("begin", journal().packed, seconds=0)
        machine.switch("apply")
        machine.forget()
        machine.put_back()
        assert machine.calls()[0] == f"stop {OLD} {NEW}"
    finally:
        process.kill()
        process.wait()


def test_there_is_one_switch_at_a_time_and_none_is_confirmed_that_was_undone(
    machine: Machine,
) -> None:
    machine.switch("begin", journal().packed, seconds=0)
    assert machine.switch("begin", journal().packed) == 3
    machine.put_back()
    assert [machine.switch(verb) for verb in ("apply", "renew", "confirm")] == [3, 3, 3]


def test_a_copy_of_a_model_that_nobody_filled_before_is_freed(machine: Machine) -> None:
    copy = machine.here / "a model"
    copy.mkdir()
    (copy / ".staged").touch()
    by_hand = machine.here / "by hand"
    by_hand.mkdir()
    kept = Journal((OLD,), (OLD,), copies=(str(copy), str(by_hand)))
    machine.switch("begin", kept.packed, seconds=0)
    machine.put_back()
    assert (copy.exists(), by_hand.exists()) == (False, True)


def moments(machine: Machine, whole: Callable[[str, str], int]) -> Iterator[dict[str, str]]:
    """Some of all the moments at which a command of it begins or has ended, by chance."""
    seed = int(os.environ.get("STOKER_TEST_SEED", time.time()))
    print(f"STOKER_TEST_SEED={seed}")
    chance = random.Random(seed)
    (machine.here / "count").write_text("0")
    assert whole("0", "before") == 0
    last = int((machine.here / "count").read_text())
    for number in chance.sample(range(1, last + 1), 4):
        (machine.here / "count").write_text("0")
        yield {"FATAL": str(number), "FATAL_WHEN": chance.choice(("before", "after"))}


def test_killed_anywhere_in_putting_back_it_is_whole_the_next_time(machine: Machine) -> None:
    before = machine.seen()

    def whole(number: str, when: str) -> int:
        machine.switch("begin", journal().packed, seconds=0)
        machine.switch("apply")
        return machine.put_back(FATAL=number, FATAL_WHEN=when)

    ends = set()
    for fatal in moments(machine, whole):
        ends.add(whole(*fatal.values()))
        assert machine.put_back() == 0
        assert machine.seen() == before
        assert not (machine.state / "switch").exists()
    assert -signal.SIGKILL in ends


def test_killed_anywhere_in_the_switch_the_old_server_is_put_back(machine: Machine) -> None:
    before = machine.seen()

    def whole(number: str, when: str) -> int:
        fatal = {"FATAL": number, "FATAL_WHEN": when}
        code = machine.switch("begin", journal().packed, seconds=0, **fatal)
        return code or machine.switch("apply", **fatal)

    ends = set()
    for fatal in moments(machine, whole):
        machine.put_back()
        ends.add(whole(*fatal.values()))
        assert machine.put_back() == 0
        assert machine.seen() == before
    assert -signal.SIGKILL in ends
