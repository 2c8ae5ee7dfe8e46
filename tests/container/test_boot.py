"""Words for the kernel's command line: added once, and nothing else of a file changes."""

import pytest

from stoker.container import boot
from stoker.refused import Refused

GRUB = """# a comment with GRUB_CMDLINE_LINUX_DEFAULT="no"
GRUB_DEFAULT=0
GRUB_CMDLINE_LINUX_DEFAULT="quiet"
GRUB_CMDLINE_LINUX="console=ttyS0"
"""


def test_words_are_added_to_proxmox_s_file_once() -> None:
    text = "root=ZFS=rpool/ROOT/pve-1 boot=zfs\n"
    added = boot.cmdline(text, ["iommu=pt"])
    assert added == "root=ZFS=rpool/ROOT/pve-1 boot=zfs iommu=pt\n"
    assert boot.cmdline(added, ["iommu=pt", "boot=zfs"]) is None


def test_a_word_that_begins_like_one_that_is_there_is_another_word() -> None:
    assert boot.cmdline("iommu=pton\n", ["iommu=pt"]) == "iommu=pton iommu=pt\n"


def test_grub_s_other_lines_stay_as_they_are() -> None:
    added = boot.grub(GRUB, ["iommu=pt", "console=ttyS0"])
    assert added == GRUB.replace('"quiet"', '"quiet iommu=pt"')
    assert boot.grub(added, ["iommu=pt"]) is None


def test_grub_s_quotes_may_be_of_either_kind_or_none() -> None:
    line = "GRUB_CMDLINE_LINUX_DEFAULT="
    for words in ("'quiet'", "quiet", '"quiet"  '):
        assert boot.grub(f"{line}{words}\n", ["a=b"]) == f'{line}"quiet a=b"\n', words
    assert boot.grub(f'{line}""\nX=1\n', ["a=b"]) == f'{line}"a=b"\nX=1\n'


def test_a_file_of_grub_without_the_line_is_refused() -> None:
    with pytest.raises(Refused, match="has no line GRUB_CMDLINE_LINUX_DEFAULT"):
        boot.grub("GRUB_DEFAULT=0\n", ["a=b"])


@pytest.mark.parametrize(
    "value",
    ['"quiet" # mine', "\"quiet\" 'more'", '"quiet \\', '"$MORE quiet"', 'quiet"', "`cat x`"],
)
def test_what_only_a_shell_understands_is_refused(value: str) -> None:
    with pytest.raises(Refused, match="add iommu=pt there yourself"):
        boot.grub(f"GRUB_CMDLINE_LINUX_DEFAULT={value}\n", ["iommu=pt"])
    other = f'GRUB_CMDLINE_LINUX={value}\nGRUB_CMDLINE_LINUX_DEFAULT="a"\n'
    assert boot.grub(other, ["b"]) == other.replace('"a"', '"a b"')


def test_words_that_the_running_kernel_lacks_wait_for_a_boot() -> None:
    assert boot.waiting("quiet iommu=pt", ["iommu=pt", "pcie_aspm=off"]) == ["pcie_aspm=off"]
