"""Fifty generated containers made by a deploy, half by the API and half by `pct`, and read back.

Their template is a few files, so that each takes no time; none is started.
"""

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from stoker.container.wanted import Wanted
from stoker.sandbox import gpu, places
from tests.container import generated
from tests.sandbox import tiny_template
from tests.sandbox.site import INVENTORY, Site, standing

pytestmark = pytest.mark.sandbox
INSTANCE = "test-fifty"
COUNT, FIRST = 50, 400
PLACE = generated.Place(
    templates=(f"local:vztmpl/{tiny_template.NAME}",),
    storages=("local-zfs", "local"),
    bridges=("vmbr0",),
)
DEPLOY = """\
from pyinfra import host

from roles.container import container
from roles.flagsets import flagsets

flagsets()
if "inference" in host.groups:
    container()
"""
HOSTS = f"""\
import json
from pathlib import Path

from stoker.sandbox import inventory as _inventory

pve = _inventory.groups({INSTANCE!r}).pve
inference = [(f"@pct/{{data['pct_vmid']}}", data) for data in json.loads(
    Path("hosts.json").read_text()
)]
"""
NEEDED = f"""\
mkdir -p {" ".join(f"'{source}'" for source in PLACE.sources)}
pveum pool add gpu
pveum acl modify /pool/gpu --users stoker@pve --roles StokerDeploy
"""
DESTROYED = r"""
sed -i '/^protection: 1$/d' /etc/pve/lxc/[0-9]*.conf
pct list | awk 'NR > 1 { print $1 }' | xargs -P 2 -n 1 pct destroy
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    template = places.TEMPLATES / tiny_template.NAME
    path = tmp_path_factory.mktemp("site")
    with standing(INSTANCE, path, "--bare", "--gpus", "2") as made:
        template.write_bytes(tiny_template.archive())
        (path / "containers.py").write_text(DEPLOY)
        (path / INVENTORY).write_text(HOSTS)
        made.node(NEEDED)
        try:
            yield made
        finally:
            template.unlink()


def hosts(seed: int) -> list[dict[str, Any]]:
    """Of an inventory."""
    wanted = generated.configurations(seed, COUNT, PLACE)
    return [_host(vmid, one) for vmid, one in enumerate(wanted, FIRST)]


def _host(vmid: int, wanted: Wanted) -> dict[str, Any]:
    """Every second one is made by `pct`, and what the account's role does not make: a container
    that is not unprivileged. The others as the data of their node say."""
    said = wanted.model_dump(mode="json", exclude_unset=True)
    if said.get("gpus") not in (None, [], "all"):
        said["gpus"] = [gpu.initial(f"{INSTANCE}/pve1", 2)["gpus"][0]["uuid"]]
    by_pct = vmid % 2 or wanted.unprivileged is False
    return {
        "pct_host": "pve1",
        "pct_vmid": vmid,
        "flagsets": [],
        "container": {**said, "gpus_shared": True, "started": False},
        **({"proxmox": {"backend": "ssh"}} if by_pct else {}),
    }


def test_fifty_are_made_read_back_and_then_there_is_nothing_to_do(site: Site) -> None:
    seed = int(os.environ.get("STOKER_TEST_SEED", random.randrange(10**6)))
    print(f"STOKER_TEST_SEED={seed}")
    every = hosts(seed)
    (site.path / "hosts.json").write_text(json.dumps(every))
    made = site.pyinfra("containers.py")
    assert (made.rc, made.changed) == (0, COUNT), made.text
    again = site.pyinfra("containers.py")
    assert (again.rc, again.changed) == (0, 0), again.text
    print(f"made in {made.seconds:.0f} s, looked at again in {again.seconds:.0f} s")
    texts = site.node("cd /etc/pve/lxc && grep -H . *.conf").stdout
    for one in every:
        said = one["container"]
        for key, name in (("hostname", "hostname"), ("memory", "memory_mib"), ("cores", "cores")):
            if name in said:
                assert f"{one['pct_vmid']}.conf:{key}: {said[name]}\n" in texts
    site.node(DESTROYED)
    assert site.node("pct list").stdout == ""
