"""What somebody else, or a slip of the hand, puts in the way of a container's declaration."""

import hashlib

import pytest

from stoker.container import asked, configuration, creation, difference, raw_lines, showing
from stoker.container.devices import Device
from stoker.container.difference import Difference
from stoker.container.raw_lines import Numbering
from stoker.container.version import Version
from stoker.container.wanted import Wanted
from stoker.refused import Refused
from tests.container.cards import MAJORS, NUMBERS

VERSION = Version((6, 1, 10))


def between(text: str, devices: tuple[Device, ...] = (), **said: object) -> Difference:
    return difference.between(
        Wanted.of(said), devices, configuration.parse(text), VERSION, running=True
    )


def test_a_container_without_a_free_slot_is_refused() -> None:
    full = "".join(f"dev{n}: /dev/ttyS{n}\n" for n in range(256))
    with pytest.raises(Refused, match="one more devN: dev0 to dev255 are taken"):
        between(full, (Device("/dev/nvidia0"),), gpus="all")
    with pytest.raises(Refused, match="one more netN: net0 to net31 are taken"):
        between(
            "".join(f"net{n}: name=eth{n},bridge=vmbr0\n" for n in range(32)),
            networks=[{"name": "lan", "bridge": "vmbr0"}],
        )


def test_a_new_container_with_more_mounts_than_there_can_be_is_refused() -> None:
    mounts = [{"source": "/tank", "target": f"/m{n}"} for n in range(257)]
    new = {"template": "local:vztmpl/a.tar", "storage": "local", "rootfs_gib": 1}
    with pytest.raises(Refused, match="one more mpN"):
        creation.options(Wanted.of({**new, "mounts": mounts}), 200)


def test_a_difference_moves_no_cursor() -> None:
    found = between(
        "#a%1B[31m%0D\nhostname: \x1b[2J\n[pve:pending]\ncores: 9\x1b[0m\n",
        description="mine",
        hostname="gpu-a",
    )
    lines = showing.lines(200, "gpu-a", Difference(found.changes))
    assert lines[1:] == [
        "- description: a\\x1b[31m",
        "+ description: mine  (at once)",
        "- hostname: \\x1b[2J",
        "+ hostname: gpu-a  (at once)",
    ]


def test_the_digest_is_of_the_bytes_and_a_key_has_none_of_what_is_no_text() -> None:
    data = b"#caf\xe9\r\nmemory: 512\r\n[before]\r\nmemory: 1\r\n"
    found = configuration.parse(data.decode("utf-8", "surrogateescape"))
    assert found.digest == hashlib.sha1(data).hexdigest()
    assert found.keys["description"].startswith("caf\ufffd")
    assert (found.keys["memory"], found.snapshots) == ("512", ("before",))


def test_a_line_ends_where_proxmox_ends_it() -> None:
    text = "#a\u2028lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind\r\ncores: 2\r\n"
    node = Numbering(NUMBERS, MAJORS)
    assert raw_lines.found(text, node).lines == ()
    assert raw_lines.migrated(text, [Device("/dev/nvidia0")], node) == text


@pytest.mark.parametrize("said", [0, "", [], False])
def test_what_is_no_dictionary_is_not_taken_for_an_empty_one(said: object) -> None:
    with pytest.raises(Refused, match=r"driver: .*is no dictionary"):
        asked.check({"gpu-a": {"driver": said}})


def test_a_text_that_no_command_line_takes_is_refused() -> None:
    with pytest.raises(Refused, match=r"container.pool: 'x.* is longer than 8192 characters"):
        Wanted.of({"pool": "x" * 200_000})
