"""testinfra through the same agent."""

from typing import Any

import pytest
import testinfra

import stoker.testinfra  # noqa: F401 - registers pct://

pytestmark = pytest.mark.sandbox


def host(sandbox: Any, tmp_path: Any, user: str) -> Any:
    config = tmp_path / "ssh_config"
    config.write_text(f"Host *\nUser root\nUserKnownHostsFile {sandbox.known_hosts}\n")
    node = sandbox.nodes[0]
    query = f"ssh_config={config}&ssh_identity_file={sandbox.ssh_key}"
    return testinfra.get_host(f"pct://{user}{node.address}:{node.ssh_port}?{query}")


def test_a_container_is_tested_from_inside(sandbox: Any, tmp_path: Any) -> None:
    inside = host(sandbox, tmp_path, f"{sandbox.containers[0].vmid}@")
    assert inside.file("/etc/hostname").content_string.strip() != sandbox.nodes[0].name
    assert inside.user("daemon").exists
    assert inside.run("echo %s; exit 3", "it's é").rc == 3
    assert inside.run("echo %s", "it's é").stdout == "it's é\n"
    assert not inside.file("/no/such").exists


def test_without_a_vmid_it_is_the_node(sandbox: Any, tmp_path: Any) -> None:
    node = host(sandbox, tmp_path, "")
    assert node.file("/etc/hostname").content_string.strip() == sandbox.nodes[0].name
    assert node.file("/usr/sbin/pct").exists
