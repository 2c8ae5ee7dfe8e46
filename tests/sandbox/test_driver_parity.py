"""The driver's libraries of a real container, through an upgrade of its node and the boot after it.

Its sandbox is its own; whatever happens, it is taken down at the end.
"""

import os
from collections.abc import Iterator

import pytest

from stoker.sandbox import gpu, lxc_node, switches
from stoker.sandbox import state as states
from stoker.sandbox.node import gpu_kernel
from tests.sandbox.site import Run, Site, standing

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="the sandbox needs root"),
]
INSTANCE = "test-driver"
OLD, NEW = gpu.DRIVER_VERSION, gpu_kernel.NEWER
HOME = "/opt/stoker/driver"
LIB = "/usr/lib/x86_64-linux-gnu"
DEPLOY = """
from pyinfra import host
from roles.driver import driver
from roles.node import node

node()
if "inference" in host.groups:
    driver()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with standing(INSTANCE, tmp_path_factory.mktemp("site"), "--gpus", "2") as made:
        (made.path / "parity.py").write_text(DEPLOY)
        yield made


def run(site: Site, **driver: object) -> Run:
    """The two roles, with this data `driver` of the container."""
    data = site.path / "group_data" / "inference.py"
    kept = data.read_text().partition("# of this test")[0]
    data.write_text(f"{kept}# of this test\ndriver = {driver!r}\n")
    return site.pyinfra("parity.py")


def inside(site: Site, script: str) -> str:
    return site.node(f"lxc-attach -n 200 --clear-env -- /bin/sh -c '{script}'").stdout


def taken(site: Site) -> str:
    """The version of libcuda that the container's loader takes."""
    first = '/sbin/ldconfig -p | sed -n "s/.*libcuda.so.1 .*=> //p" | head -n 1'
    told = inside(site, f"readlink -f $({first})")
    return told.strip().partition(".so.")[2]


def bare(site: Site) -> None:
    """The container has none, as a fresh one from a template."""
    files = f"{HOME} /etc/ld.so.conf.d/00-* {LIB}/libcuda* {LIB}/libnvidia*"
    inside(site, f"rm -rf {files}; /sbin/ldconfig")


def booted(site: Site) -> None:
    """The node went off and on again, and its container runs."""
    state = states.load(INSTANCE)
    lxc_node.stop(state, state.nodes[0])
    lxc_node.start(state, state.nodes[0])
    site.node("pct status 200 | grep -q running || pct start 200")


def test_libraries_that_fit_are_left_alone_and_missing_ones_are_brought_in(site: Site) -> None:
    first = run(site)
    assert (first.rc, taken(site)) == (0, OLD), first.text
    assert inside(site, f"ls {HOME} 2>/dev/null || true") == ""
    bare(site)
    placed = run(site)
    assert (placed.rc, placed.changed, taken(site)) == (0, 1, OLD), placed.text
    assert run(site).changed == 0


def test_an_upgrade_on_the_node_waits_for_its_boot_and_then_the_container_follows(
    site: Site,
) -> None:
    switches.turn_on(states.load(INSTANCE), "driver-upgraded")
    waiting = run(site)
    assert f"{OLD} is loaded, {NEW} is installed; a reboot, or a" in waiting.text
    assert (waiting.rc, taken(site)) == (0, OLD)
    bare(site)
    refused = run(site)
    assert refused.rc == 1
    assert f"reboot the node or reload its module, since {NEW} is installed" in refused.text
    booted(site)
    followed = run(site)
    assert (followed.rc, taken(site)) == (0, NEW), followed.text
    assert run(site).changed == 0


def test_others_in_the_way_are_refused_by_name_and_removed_where_that_is_said(site: Site) -> None:
    bare(site)
    assert run(site).rc == 0
    made = f"cp {HOME}/current/lib/libcuda.so.{NEW} {LIB}/libcuda.so.535.183.01"
    inside(site, f"{made}; rm -r {HOME}; /sbin/ldconfig")
    refused = run(site)
    assert refused.rc == 1
    assert f"has {LIB}/libcuda.so.535.183.01 (of no package); install {NEW}" in refused.text
    assert taken(site) == "535.183.01"
    replaced = run(site, replace=True)
    assert (replaced.rc, taken(site)) == (0, NEW), replaced.text
    assert "libcuda" not in inside(site, f"ls {LIB}")


def test_a_service_keeps_what_it_started_with_and_is_named_until_it_was_restarted(
    site: Site,
) -> None:
    inside(site, f"mv {HOME}/{NEW} {HOME}/570.1 && ln -sfn 570.1 {HOME}/current")
    inside(site, f"mv {HOME}/570.1/lib/libcuda.so.{NEW} {HOME}/570.1/lib/libcuda.so.570.1")
    preload = f"-p Environment=LD_PRELOAD={HOME}/570.1/lib/libcuda.so.570.1"
    inside(site, f"systemd-run -q --unit=asleep {preload} sleep 600")
    for _ in range(2):
        told = run(site)
        assert told.rc == 0, told.text
        assert "asleep.service still runs with the driver" in told.text
    assert "570.1" in inside(site, f"ls {HOME}")
    inside(site, "systemctl stop asleep.service")
    assert run(site).changed == 1
    assert inside(site, f"ls {HOME}").split() == [NEW, "current"]
