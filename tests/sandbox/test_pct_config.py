"""The stand-in's configuration files, read and written as Proxmox does. No node is needed."""

import pytest

from stoker.sandbox.node import conf, ha, pending

TEXT = """\
#the lab's first
#100%25 of it
arch: amd64
dev0: /dev/nvidia0,mode=0666
hostname: gpu-a
memory: 65536
rootfs: local:200/vm-200-disk-0.raw,size=8G
unprivileged: 1
lxc.mount.entry: /dev/nvidiactl dev/nvidiactl none bind,optional,create=file
lxc.environment.runtime: A=1
lxc.environment.runtime: B=2

[pve:pending]
delete: mp0
dev0: /dev/nvidia0,mode=0600

[before-upgrade]
#all well
arch: amd64
hostname: gpu-a
memory: 32768
rootfs: local:200/vm-200-disk-0.raw,size=8G
snaptime: 1795968000
unprivileged: 1
"""


def test_a_file_as_proxmox_writes_it_is_written_back_unchanged() -> None:
    assert conf.render(conf.parse(TEXT, 200)) == TEXT


def test_sections_do_not_mix_with_what_holds_now() -> None:
    config = conf.parse(TEXT, 200)
    assert config.now.keys["memory"] == "65536"
    assert config.now.keys["env"] == "A=1\0B=2"
    assert config.now.keys["description"] == "the lab's first\n100% of it"
    assert config.pending_deletes == ["mp0"]
    assert config.snapshots["before-upgrade"].keys["memory"] == "32768"
    assert config.warnings == []


def test_a_raw_line_appended_behind_a_section_belongs_to_that_section() -> None:
    config = conf.parse(TEXT + "lxc.cgroup2.devices.allow: c 195:* rwm\n", 200)
    assert [name for name, _value in config.now.raw] == ["lxc.mount.entry"]
    assert config.snapshots["before-upgrade"].raw == [
        ("lxc.cgroup2.devices.allow", "c 195:* rwm"),
    ]


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("garbage line", "vm 106 - unable to parse config: garbage line"),
        ("colour: red", "vm 106 - unable to parse value of 'colour' - unknown setting 'colour'"),
        (
            "memory: lots",
            "vm 106 - unable to parse value of 'memory' - type check ('integer') failed - "
            "got 'lots'",
        ),
    ],
)
def test_a_line_that_means_nothing_is_a_warning_and_gone_at_the_next_rewrite(
    line: str, warning: str
) -> None:
    config = conf.parse(f"arch: amd64\n{line}\n", 106)
    assert config.warnings == [warning]
    assert conf.render(config) == "arch: amd64\n"


def test_pct_config_shows_pending_values_merged() -> None:
    merged = pending.merged(conf.parse("mp0: /a,mp=/a\n" + TEXT, 200))
    assert merged["dev0"] == "/dev/nvidia0,mode=0600"
    assert "mp0" not in merged
    assert "delete" not in merged


def test_pct_pending_says_cur_new_and_del() -> None:
    config = conf.parse(
        "dev0: /dev/a\nmp0: /a,mp=/a\nmemory: 64\n\n"
        "[pve:pending]\ndelete: mp0\ndev0: /dev/b\ndev1: /dev/c\n",
        103,
    )
    assert pending.listing(config) == [
        "cur dev0: /dev/a",
        "new dev0: /dev/b",
        "new dev1: /dev/c",
        "cur memory: 64",
        "del mp0: /a,mp=/a",
    ]


def test_a_key_changed_and_then_deleted_keeps_the_changed_value_at_the_start() -> None:
    config = conf.parse(
        "dev0: /dev/a\n\n[pve:pending]\ndelete: dev0\ndev0: /dev/b\n",
        103,
    )
    assert pending.apply_all(config)
    assert conf.render(config) == "dev0: /dev/b\n"
    assert not pending.apply_all(config)


def test_high_availability_knows_what_its_file_says() -> None:
    text = "ct: 103\n\tstate stopped\n\nct: 104\n\tcomment x\n"
    assert ha.parse(text) == {103: "stopped", 104: "started"}
    assert ha.parse(ha.render({103: "ignored"})) == {103: "ignored"}
