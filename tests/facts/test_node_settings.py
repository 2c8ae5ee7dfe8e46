"""A node's settings read from its files, by the same script that runs there."""

import subprocess
import sys
from pathlib import Path

import pytest

from stoker.facts import node_settings
from stoker.facts.node_settings import Daemon, NodeSettings, Persistence, SmiSettings, read
from stoker.health.node_seen import Settings
from stoker.health.node_settings import rows
from tests.facts.asked import asked

SCRIPT = Path(node_settings.__file__).parent / "on_node" / "settings.py"
BRIDGE, GPU = "0000:00:01.0", "0000:01:00.0"
STATUS = """Package: libcuda1
Status: hold ok installed
Version: 580.126.09-1

Package: nvidia-smi
Status: deinstall ok config-files
Version: 535.1-1

Package: bash
Status: install ok installed
Version: 5.2
"""


def put(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def space(acs: int | None) -> bytes:
    """A bridge's configuration: an advanced error capability, then ACS with that control word."""
    made = bytearray(4096)
    made[0:2] = b"\x86\x80"
    made[0x100:0x104] = (0x148_1_0001).to_bytes(4, "little")
    if acs is not None:
        made[0x148:0x14C] = (0x000_1_000D).to_bytes(4, "little")
        made[0x14E:0x150] = acs.to_bytes(2, "little")
    return bytes(made)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    device = f"sys/devices/pci0000:00/{BRIDGE}/{GPU}"
    put(
        tmp_path,
        {
            f"{device}/vendor": "0x10de\n",
            f"{device}/class": "0x030200\n",
            f"{device}/current_link_width": "8\n",
            f"{device}/max_link_width": "16\n",
            f"{device}/iommu_group/type": "DMA-FQ\n",
            f"{device}/link/l1_aspm": "1\n",
            f"sys/devices/pci0000:00/{BRIDGE}/max_link_width": "16\n",
            f"sys/devices/pci0000:00/{BRIDGE}/config": space(0x1D),
            f"sys/devices/pci0000:00/{BRIDGE}/vendor": "0x8086\n",
            "sys/module/nvidia/version": "580.126.09\n",
            "modinfo": "580.142\n",
            "proc/cmdline": "quiet iommu=on\n",
            "var/lib/dpkg/status": STATUS,
            "usr/bin/unattended-upgrade": "",
            "etc/apt/apt.conf.d/20auto-upgrades": 'APT::Periodic::Unattended-Upgrade "1";\n',
            "run/nvidia-persistenced/nvidia-persistenced.pid": "77\n",
            "proc/77/comm": "nvidia-persiste\n",
        },
    )
    listed = tmp_path / "sys" / "bus" / "pci" / "devices"
    listed.mkdir(parents=True)
    for bdf, path in ((BRIDGE, BRIDGE), (GPU, f"{BRIDGE}/{GPU}")):
        (listed / bdf).symlink_to(f"../../../devices/pci0000:00/{path}")
    (tmp_path / device / "driver").symlink_to("../../../../bus/pci/drivers/nvidia")
    return tmp_path


def looked(root: Path) -> Settings:
    words = [sys.executable, "-I", "-S", str(SCRIPT), str(root), str(root)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = read(said)
    assert found
    return found


def test_a_node_is_read_with_each_gpu_s_way_up(root: Path) -> None:
    found = looked(root)
    (gpu,) = found.gpus
    assert (gpu.bdf, gpu.driver, gpu.iommu, gpu.l1) == (GPU, "nvidia", "DMA-FQ", "1")
    assert (gpu.width, gpu.most_width, gpu.slot_width) == ("8", "16", "16")
    assert gpu.bridges == ((BRIDGE, True),)
    assert (found.loaded, found.installed) == ("580.126.09", "580.142")
    assert (found.unattended, found.persistenced, found.nouveau) == (True, True, False)
    assert found.packages == (("libcuda1", "hold", "580.126.09-1"),)


@pytest.mark.parametrize(
    ("config", "redirects"),
    [
        (space(0x0C), True),
        (space(0x04), True),
        (space(0x11), False),
        (space(None), False),
        (space(0x1D)[:256], None),
        (b"\xff" * 4096, None),
        (b"", None),
    ],
)
def test_acs_is_read_from_a_bridge_s_configuration(
    root: Path, config: bytes, redirects: bool | None
) -> None:
    put(root, {f"sys/devices/pci0000:00/{BRIDGE}/config": config})
    assert looked(root).gpus[0].bridges == ((BRIDGE, redirects),)


def test_capabilities_in_circles_end(root: Path) -> None:
    made = bytearray(space(None))
    made[0x148:0x14C] = (0x100_1_0002).to_bytes(4, "little")
    put(root, {f"sys/devices/pci0000:00/{BRIDGE}/config": bytes(made)})
    assert looked(root).gpus[0].bridges == ((BRIDGE, None),)


def test_a_machine_without_anything_is_an_empty_look(tmp_path: Path) -> None:
    assert looked(tmp_path) == Settings()


def test_this_machine_can_be_looked_at_as_a_node_is() -> None:
    if not Path("/usr/bin/python3").exists():
        pytest.skip("no /usr/bin/python3")
    found = asked(NodeSettings())
    assert rows(found)
    assert NodeSettings().process(["Traceback"]) is None


def test_nvidia_smi_s_answer_is_by_field_and_its_errors_are_none() -> None:
    line = "GPU-1, 00000000:01:00.0, Enabled, 600.00, 600.00, 150.00, 600.00, Enabled, No, No"
    (gpu,) = SmiSettings().process([line])
    assert (gpu["power.max_limit"], gpu["remapped_rows.failure"]) == ("600.00", "No")
    assert SmiSettings().process(['Field "power.x" is not a valid field to query.']) == []


def test_a_daemon_that_something_else_starts_needs_no_enabling() -> None:
    said = ["LoadState=loaded", "UnitFileState=static", "ActiveState=inactive"]
    assert Persistence().process(said) == Daemon(there=True, enabled=True, active=False)
    assert Persistence().process(["LoadState=not-found", "UnitFileState="]) == Daemon()
