"""The sandbox's containers in the words of each tool."""

from pathlib import Path
from typing import Any

from stoker.sandbox.state import Container, State


def for_pyinfra(state: State, connector: str, containers: list[Container]) -> list[dict[str, Any]]:
    """Host names and data; `@pct` and the baseline's `@pct-exec` take the same node data."""
    return [
        {
            "name": f"@{connector}/ct-{container.vmid}",
            "data": {
                "pct_host": address(state, container),
                "pct_vmid": container.vmid,
                "ssh_hostname": address(state, container),
                "ssh_user": "root",
                "ssh_key": str(state.ssh_key),
                "ssh_known_hosts_file": str(state.known_hosts),
                "ssh_strict_host_key_checking": "yes",
            },
        }
        for container in containers
    ]


def for_ansible(state: State, plugin: str, containers: list[Container]) -> dict[str, Any]:
    """An inventory that Ansible's yaml plugin reads, JSON being YAML."""
    hosts = {
        f"ct-{container.vmid}": {
            "ansible_host": address(state, container),
            "proxmox_vmid": container.vmid,
        }
        for container in containers
    }
    shared = {
        "ansible_connection": plugin,
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(state.ssh_key),
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    return {"all": {"hosts": hosts, "vars": shared}}


def for_testinfra(state: State, ssh_config: Path, containers: list[Container]) -> str:
    """The `--hosts` of pytest: one `pct://` specification a container; writes `ssh_config`."""
    settings = {"User": "root", "IdentityFile": state.ssh_key, "IdentitiesOnly": "yes"}
    settings |= {"UserKnownHostsFile": state.known_hosts, "StrictHostKeyChecking": "yes"}
    lines = [f"    {key} {value}" for key, value in settings.items()]
    ssh_config.write_text("\n".join(["Host *", *lines, ""]))
    return ",".join(
        f"pct://{container.vmid}@{address(state, container)}?ssh_config={ssh_config}"
        for container in containers
    )


def address(state: State, container: Container) -> str:
    """The address of the node that has the container."""
    (found,) = (node for node in state.nodes if node.name == container.node)
    return found.address
