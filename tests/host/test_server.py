"""What must hold on every container that serves, a real lab's as well as the sandbox's.

pytest tests/host --inventory inventory/lab.py
"""

import configparser
import json
from urllib.parse import urlsplit

import pytest
from testinfra.host import Host

UNIT_DIR = "/usr/local/lib/systemd/system"


class Server:
    """One unit of ours as the container has it on disk."""

    def __init__(self, host: Host, path: str) -> None:
        self.name = path.rpartition("/")[2]
        self.text = host.file(path).content_string
        parser = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes="#")
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read_string(self.text)
        self.stoker = dict(parser["X-Stoker"])
        self.url = urlsplit(self.stoker["URL"])


@pytest.fixture(scope="module")
def servers(host: Host) -> list[Server]:
    listed = host.check_output(f"ls {UNIT_DIR}/sglang.service {UNIT_DIR}/sglang@*.service 2>&-;:")
    return [Server(host, path) for path in listed.split()]


def shown(host: Host, unit: str, key: str) -> str:
    """One property of a unit, as systemd says it."""
    return host.check_output("systemctl show --value -p %s %s", key, unit)


def test_there_is_a_server(servers: list[Server]) -> None:
    assert servers


def test_every_unit_runs_and_starts_again_at_boot(host: Host, servers: list[Server]) -> None:
    for server in servers:
        assert host.service(server.name).is_running, server.name
        assert host.service(server.name).is_enabled, server.name


def test_the_running_process_is_the_one_its_unit_describes(
    host: Host, servers: list[Server]
) -> None:
    for server in servers:
        pid = shown(host, server.name, "MainPID")
        environment = host.check_output("tr '\\0' '\\n' < /proc/%s/environ", pid).split("\n")
        digest = next(line for line in environment if line.startswith("STOKER_DIGEST="))
        on_disk = host.file(f"/etc/stoker/{server.name.removesuffix('.service')}.env")
        assert digest.partition("=")[2] in on_disk.content_string


def test_only_root_reads_the_secrets(host: Host, servers: list[Server]) -> None:
    for server in servers:
        file = host.file(f"/etc/stoker/{server.name.removesuffix('.service')}.env")
        assert (file.mode, file.user) == (0o600, "root")


def test_it_listens_where_the_flag_set_says_and_nowhere_else(
    host: Host, servers: list[Server]
) -> None:
    for server in servers:
        sockets = host.check_output("cat /proc/net/tcp /proc/net/tcp6").split("\n")
        port = f":{server.url.port:04X}"
        listening = [
            line.split()[1] for line in sockets if f"{port} " in line and line.split()[3] == "0A"
        ]
        wanted = "0100007F" if server.url.hostname == "127.0.0.1" else "00000000"
        assert [address.partition(":")[0] for address in listening] == [wanted]


def test_it_answers_with_generated_tokens(host: Host, servers: list[Server]) -> None:
    script = (
        "import json,sys,urllib.request as u;"
        "b=json.dumps({'text':'hello','sampling_params':{'max_new_tokens':4,'ignore_eos':True}});"
        "r=u.Request(sys.argv[1]+'/generate',b.encode(),{'Content-Type':'application/json'});"
        "print(u.urlopen(r,timeout=120).read().decode())"
    )
    for server in servers:
        if "API_KEY" in server.stoker.get("Secrets", ""):
            continue  # the key is root's own; the deploy itself has asked with it
        python = server.stoker["Python"]
        url = f"http://127.0.0.1:{server.url.port}"
        answer = json.loads(host.check_output("%s -c %s %s", python, script, url))
        assert answer["meta_info"]["completion_tokens"] == 4


def test_a_login_shell_finds_the_cuda_of_the_environment(host: Host, servers: list[Server]) -> None:
    for server in servers:
        if not server.stoker.get("CUDA"):
            continue
        home = host.check_output("sh -lc 'echo $CUDA_HOME'")
        assert host.file(f"{home}/bin/nvcc").exists
        assert host.run("sh -lc 'nvcc --version'").rc == 0


def test_the_service_user_can_open_every_gpu_node(host: Host, servers: list[Server]) -> None:
    for server in servers:
        user = shown(host, server.name, "User") or "root"
        for node in host.check_output(
            "ls /dev/nvidia[0-9]* /dev/nvidiactl /dev/nvidia-uvm"
        ).split():
            opened = host.run("runuser -u %s -- sh -c %s", user, f"exec 3<>{node}")
            assert opened.rc == 0, f"{user} cannot open {node}"
