"""pyinfra's side: names, arguments, lines; and whole runs on the sandbox."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import gevent
import pytest
from pyinfra.api.command import QuoteString, StringCommand
from pyinfra.api.exceptions import InventoryError
from pyinfra.api.hiddenvalue import HiddenValue
from pyinfra.connectors.util import make_unix_command

from stoker.connector import PctConnector, waiting
from stoker.connector.arguments import as_root, stdin_bytes, words
from stoker.connector.lines import Lines


def test_names_say_node_and_container() -> None:
    assert list(PctConnector.make_names_data("pve1")) == [("pve1", {}, [])]
    data = {"pct_host": "pve1", "pct_vmid": 200}
    assert list(PctConnector.make_names_data("pve1/200")) == [("pve1/200", data, [])]


@pytest.mark.parametrize("name", [None, "", "/200", "pve1/gpu", "pve1/200/1"])
def test_other_names_are_refused(name: str | None) -> None:
    with pytest.raises(InventoryError, match="cannot read the host @pct/"):
        list(PctConnector.make_names_data(name))


def test_a_usual_command_loses_the_shell_that_pyinfra_puts_around_it() -> None:
    secret = StringCommand("echo", QuoteString(HiddenValue("it's")), "&& ls")
    assert words(make_unix_command(secret)) == "echo 'it'\"'\"'s' && ls"
    made = make_unix_command(secret, _chdir="/tmp", _env={"A": "b c"})
    assert words(made) == "cd /tmp && export 'A=b c' && echo 'it'\"'\"'s' && ls"
    bash = make_unix_command(StringCommand("ls"), _shell_executable="bash")
    assert words(bash) == ["bash", "-c", "ls"]


def test_a_command_as_another_user_stays_a_text() -> None:
    made = make_unix_command(StringCommand("id"), _su_user="sglang", _su_shell="sh")
    assert words(made) == "su -s $(command -v sh) sglang -c 'sh -c id'"
    assert words(make_unix_command(StringCommand("id"), _shell_executable=None)) == "id"


def test_sudo_to_root_is_left_out_and_to_others_kept() -> None:
    plain = as_root({"_sudo": True, "_sudo_password": "x", "_chdir": "/"})
    assert {key: value for key, value in plain.items() if value} == {"_chdir": "/"}
    kept = as_root({"_sudo": True, "_sudo_user": "sglang"})
    assert (kept["_sudo"], kept["_sudo_user"]) == (True, "sglang")


@pytest.mark.parametrize(
    ("given", "sent"),
    [("a", b"a\n"), (["a", "b\n"], b"a\nb\n"), (io.StringIO("a\nb"), b"a\nb\n"), (b"\0", b"\0")],
)
def test_stdin_is_lines_as_pyinfra_sends_them(given: Any, sent: bytes) -> None:
    assert stdin_bytes(given) == sent


def test_lines_are_whole_however_their_bytes_come() -> None:
    text = "é1\n\n日本\r\nlast"
    lines = Lines(False, "")
    for byte in text.encode():
        lines.take("stdout", bytes([byte]))
    lines.take("stderr", b"\xff\n")
    output = lines.end()
    assert output.stdout_lines == ["é1", "", "日本\r", "last"]
    assert output.stderr_lines == ["\ufffd"]


def test_a_long_command_goes_on_saying_that_it_runs_and_a_short_one_says_nothing() -> None:
    said: list[str] = []
    with waiting.told(said.append, every_s=0.02):
        gevent.sleep(0.2)
    assert said[0] == "still running after 0 s"
    gevent.sleep(0.1)  # one may have been on its way
    until_then = len(said)
    with waiting.told(said.append, every_s=0.2):
        pass
    gevent.sleep(0.4)
    assert len(said) == until_then


def run(sandbox: Any, folder: Path, deploy: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """pyinfra on the node pve1, on gpu-a (the first container) and gpu-b (the last)."""
    node, first, last = sandbox.nodes[0], sandbox.containers[0], sandbox.containers[-1]
    ssh = {
        "ssh_hostname": node.address,
        "ssh_port": node.ssh_port,
        "ssh_user": "root",
        "ssh_key": str(sandbox.ssh_key),
        "ssh_known_hosts_file": str(sandbox.known_hosts),
    }
    (folder / "inventory.py").write_text(
        f"pve = [('@pct/pve1', {ssh!r})]\n"
        f"ct = [('@pct/gpu-a', {{'pct_host': 'pve1', 'pct_vmid': {first.vmid}}}),\n"
        f"      ('@pct/gpu-b', {{'pct_host': 'pve1', 'pct_vmid': {last.vmid}}})]\n"
    )
    (folder / "deploy.py").write_text(
        "from io import StringIO\n"
        "from pyinfra import host\n"
        "from pyinfra.facts.server import Hostname\n"
        "from pyinfra.operations import files, server\n" + deploy
    )
    pyinfra = Path(sys.executable).with_name("pyinfra")
    command = [pyinfra, *flags, "inventory.py", "deploy.py"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.sandbox
def test_a_second_run_changes_nothing(sandbox: Any, tmp_path: Path) -> None:
    deploy = (
        "files.directory(path='/root/d', mode='750')\n"
        "files.put(src=StringIO('é'), dest='/root/d/f', mode='640')\n"
        "files.line(path='/root/d/l', line='x=1')\n"
        "files.put(src=StringIO('u'), dest='/tmp/u', _su_user='daemon', _su_shell='sh')\n"
    )
    runs = [run(sandbox, tmp_path, deploy, "-y") for _ in range(2)]
    assert [done.returncode for done in runs] == [0, 0]
    total = runs[1].stderr.split("Grand total")[1].split()
    assert total[1:4] == ["-", "-", "12"]


@pytest.mark.sandbox
def test_a_container_that_the_run_itself_starts_is_reached(sandbox: Any, tmp_path: Path) -> None:
    vmid = sandbox.containers[-1].vmid
    deploy = (
        "print(host.name, 'is', host.get_fact(Hostname))\n"
        "if host.name == 'pve1':\n"
        f"    server.shell(name='start', commands=['pct start {vmid}'])\n"
        "server.shell(name='barrier', commands=['true'], _if=lambda: host.name == 'pve1')\n"
        "if host.name != 'pve1':\n"
        "    server.shell(name='use', commands=['cat /etc/hostname'])\n"
    )
    stop = f"if host.name == 'pve1':\n    server.shell(commands=['pct stop {vmid}'])\n"
    assert run(sandbox, tmp_path, stop, "-y").returncode == 0
    done = run(sandbox, tmp_path, deploy, "-y")
    assert "gpu-b is None" in done.stdout
    assert done.returncode == 0, done.stderr


@pytest.mark.sandbox
def test_a_stopped_container_is_an_error_of_its_host_alone(sandbox: Any, tmp_path: Path) -> None:
    vmid = sandbox.containers[-1].vmid
    deploy = "server.shell(name='use', commands=['true'])\n"
    stop = f"if host.name == 'pve1':\n    server.shell(commands=['pct stop {vmid}'])\n"
    start = stop.replace("stop", "start")
    assert run(sandbox, tmp_path, stop, "-y").returncode == 0
    dry = run(sandbox, tmp_path, deploy, "--dry")
    done = run(sandbox, tmp_path, deploy, "-y")
    assert run(sandbox, tmp_path, start, "-y").returncode == 0
    assert dry.returncode == 0
    assert done.returncode == 1
    assert f"cannot enter CT {vmid} of pve1: it is stopped; start it with" in done.stderr
    assert done.stderr.split("Grand total")[1].split()[:3] == ["3", "2", "1"]


@pytest.mark.sandbox
def test_a_time_limit_fails_the_operation_and_says_why(sandbox: Any, tmp_path: Path) -> None:
    deploy = "server.shell(name='slow', commands=['sleep 60'], _timeout=1)\n"
    done = run(sandbox, tmp_path, deploy, "-y")
    assert done.returncode == 1
    assert done.stderr.count("it took longer than 1 s and was killed") == 3


@pytest.mark.sandbox
def test_a_lost_connection_is_an_error_once_and_then_made_again(
    sandbox: Any, tmp_path: Path
) -> None:
    cut = "pkill -KILL -f stoker[.]pct[.]agent"
    deploy = (
        "if host.name == 'pve1':\n"
        f"    server.shell(name='cut', commands=[{cut!r}], _ignore_errors=True)\n"
        "server.shell(name='use', commands=['echo x >> /root/used'])\n"
        "server.shell(name='see', commands=['cat /root/used; rm /root/used'])\n"
    )
    done = run(sandbox, tmp_path, deploy, "-y", "-vvv")
    assert done.returncode == 0, done.stderr
    assert "cannot tell how the command on node pve1 ended" in done.stderr
    assert sum(line.endswith(" x") for line in done.stderr.splitlines()) == 3
