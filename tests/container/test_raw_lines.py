import pytest

from stoker.container import devices, raw_lines
from stoker.container.raw_lines import Numbering
from stoker.health import passed
from tests.container.cards import CARDS, FIRST, MAJORS, NUMBERS

NODE = Numbering(NUMBERS, MAJORS)
WANTED = devices.wanted([FIRST], NUMBERS)

# As guides have it, on the node's numbers of two kernels ago.
OLD = """\
# the lab's first container
arch: amd64
cores: 16
features: nesting=1
hostname: gpu-a
memory: 65536
net0: name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=dhcp,type=veth
ostype: debian
rootfs: local-zfs:subvol-200-disk-0,size=64G
unprivileged: 1
lxc.cgroup2.devices.allow: c 10:200 rwm
lxc.mount.entry: /dev/net/tun dev/net/tun none bind,create=file
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.cgroup2.devices.allow: c 509:* rwm
lxc.cgroup2.devices.allow: c 226:128 rwm
lxc.mount.entry: /dev/dri/renderD128 dev/dri/renderD128 none bind,optional,create=file
lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,optional,create=file
lxc.mount.entry: /dev/nvidiactl dev/nvidiactl none bind,optional,create=file
lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,optional,create=file
lxc.mount.entry: /dev/nvidia-uvm-tools dev/nvidia-uvm-tools none bind,optional,create=file
lxc.mount.entry: /dev/nvidia-caps dev/nvidia-caps none bind,optional,create=dir

[before]
arch: amd64
hostname: gpu-a
lxc.cgroup2.devices.allow: c 509:* rwm
"""


def with_rule(rule: str) -> str:
    return OLD.replace("c 509:*", rule)


def test_the_lines_of_nvidia_are_found_and_the_stale_one_among_them() -> None:
    found = raw_lines.found(OLD, NODE)
    assert len(found.lines) == 7
    assert found.stale == ("lxc.cgroup2.devices.allow: c 509:* rwm",)
    assert found.doubtful == ()
    assert found.effective == {"/dev/nvidia0", "/dev/nvidiactl"}


def test_lines_with_the_numbers_of_today_are_not_stale() -> None:
    found = raw_lines.found(with_rule("c 511:*"), NODE)
    assert found.stale == ()
    assert found.effective >= {"/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"}


def test_a_migration_takes_out_those_lines_and_leaves_every_other_byte() -> None:
    expected = "".join(
        line
        for line in OLD.partition("[before]")[0].splitlines(keepends=True)
        if "nvidia" not in line and " 195:" not in line and " 509:" not in line
    )
    new = raw_lines.migrated(OLD, WANTED, NODE)
    added = "".join(f"dev{n}: {device.value}\n" for n, device in enumerate(WANTED))
    assert (
        new
        == expected.replace("lxc.", f"{added}lxc.", 1) + "[before]" + OLD.partition("[before]")[2]
    )
    assert raw_lines.found(new, NODE).lines == ()
    assert passed.parse(new).gpu_minors((0, 1), NUMBERS) == [0]


def test_a_second_migration_changes_nothing() -> None:
    new = raw_lines.migrated(OLD, WANTED, NODE)
    assert raw_lines.migrated(new, WANTED, NODE) == new


def test_the_other_spelling_and_the_first_kind_of_control_groups_are_nvidias_too() -> None:
    text = OLD.replace("devices.allow: c 195", "devices.allow = c 195").replace(
        "lxc.cgroup2.devices.allow: c 509", "lxc.cgroup.devices.allow=c 509"
    )
    assert raw_lines.migrated(text, WANTED, NODE) == raw_lines.migrated(OLD, WANTED, NODE).replace(
        "[before]\narch: amd64\nhostname: gpu-a\nlxc.cgroup2.devices.allow: c 509",
        "[before]\narch: amd64\nhostname: gpu-a\nlxc.cgroup.devices.allow=c 509",
    )


def test_a_device_that_is_there_keeps_its_number_and_is_not_added_twice() -> None:
    text = OLD.replace(
        "cores: 16\n", "cores: 16\ndev0: /dev/fuse\ndev3: /dev/nvidiactl,mode=0666\n"
    )
    new = raw_lines.migrated(text, WANTED, NODE)
    assert [line for line in new.splitlines() if line.startswith("dev")] == [
        "dev0: /dev/fuse",
        "dev3: /dev/nvidiactl,mode=0666",
        "dev1: /dev/nvidia0,mode=0666",
        "dev2: /dev/nvidia-uvm,mode=0666",
        "dev4: /dev/nvidia-uvm-tools,mode=0666",
    ]


@pytest.mark.parametrize("rule", ["c 10:200", "c 226:*", "c 1:3", "b 7:*", "a"])
def test_what_belongs_to_something_else_is_never_taken(rule: str) -> None:
    line = f"lxc.cgroup2.devices.allow: {rule} rwm"
    assert line in raw_lines.migrated(with_rule(rule), WANTED, NODE)


def test_a_dealt_major_of_somebody_else_is_left_and_told() -> None:
    found = raw_lines.found(with_rule("c 234:*"), NODE)
    assert found.doubtful == (
        "lxc.cgroup2.devices.allow: c 234:* rwm: is left, since major 234 is aux's today; take it "
        "out yourself if it was nvidia-uvm's",
    )
    assert "c 234:* rwm" in raw_lines.migrated(with_rule("c 234:*"), WANTED, NODE)


def test_a_major_of_nobody_is_nvidias_only_beside_other_lines_of_its() -> None:
    text = "arch: amd64\nlxc.cgroup2.devices.allow: c 509:* rwm\n"
    assert raw_lines.found(text, NODE).lines == ()
    assert raw_lines.migrated(text, WANTED, NODE) == text


def test_a_line_that_denies_stays() -> None:
    text = OLD.replace("devices.allow: c 195:*", "devices.deny: c 195:1")
    assert "lxc.cgroup2.devices.deny: c 195:1 rwm" in raw_lines.migrated(text, WANTED, NODE)


def test_a_text_without_such_lines_is_the_same_text() -> None:
    for text in ("", "arch: amd64", "arch: amd64\n\n[x]\narch: amd64\n"):
        assert raw_lines.migrated(text, WANTED, NODE) == text


def test_a_file_that_ends_without_a_line_end_is_written_whole() -> None:
    text = "hostname: a\nlxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind"
    assert (
        raw_lines.migrated(text, WANTED[:1], NODE) == "hostname: a\ndev0: /dev/nvidia0,mode=0666\n"
    )


def test_the_sandboxes_numbers_are_told_by_the_node() -> None:
    node = Numbering(
        {"/dev/nvidia0": (7, 20), "/dev/nvidia-uvm": (10, 61)}, {7: "nvidia", 10: "misc"}
    )
    text = (
        "unprivileged: 1\n"
        "lxc.cgroup2.devices.allow: c 7:20 rwm\n"
        "lxc.cgroup2.devices.allow: c 10:61 rwm\n"
        "lxc.cgroup2.devices.allow: c 10:200 rwm\n"
        "lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,create=file\n"
    )
    assert raw_lines.found(text, node).lines == tuple(
        line for line in text.splitlines() if "lxc" in line and "200" not in line
    )


def test_an_unprivileged_container_without_rules_may_use_what_is_mounted() -> None:
    mount = "lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind\n"
    assert raw_lines.found("unprivileged: 1\n" + mount, NODE).effective == {"/dev/nvidia-uvm"}
    assert raw_lines.found(mount, NODE).effective == frozenset()


def test_lines_to_write_have_the_numbers_of_today_and_pass_the_gpu() -> None:
    lines = raw_lines.lines_for(WANTED, NODE)
    assert lines[2] == "lxc.cgroup2.devices.allow: c 511:0 rwm"
    assert lines[-1] == (
        "lxc.mount.entry: /dev/nvidia-uvm-tools dev/nvidia-uvm-tools none bind,create=file"
    )
    found = raw_lines.found("".join(f"{line}\n" for line in lines), NODE)
    assert found.effective == {device.path for device in WANTED}


def test_both_gpus_are_passed_by_the_lines_for_both() -> None:
    both = devices.wanted(CARDS, NUMBERS)
    text = "".join(f"{line}\n" for line in raw_lines.lines_for(both, NODE))
    assert passed.parse(text).gpu_minors((0, 1), NUMBERS) == [0, 1]
