"""What is root's alone."""

import pytest

from stoker.proxmox.rights import root_only, root_only_keys


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dev0", "/dev/nvidia0"),
        ("dev12", "/dev/nvidia-uvm,mode=0666"),
        ("hookscript", "local:snippets/h.sh"),
        ("mp0", "/tank/models,mp=/models"),
        ("mp3", "volume=/tank/models,mp=/models"),
        ("mp4", "/dev/sdb1,mp=/data"),
        ("features", "nesting=1,keyctl=1"),
        ("features", "fuse=1"),
        ("features", "nesting=0"),
    ],
)
def test_a_token_may_not(key: str, value: str) -> None:
    assert root_only({"cores": "1", key: value}, creating=True) == ({"cores": "1"}, {key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("mp0", "local-zfs:8,mp=/data"),
        ("rootfs", "local-zfs:64"),
        ("features", "nesting=1"),
        ("net0", "name=eth0"),
        ("unprivileged", "1"),
    ],
)
def test_a_token_may(key: str, value: str) -> None:
    assert root_only({key: value}, creating=True) == ({key: value}, {})


def test_all_features_of_a_privileged_container_are_roots() -> None:
    options = {"unprivileged": "0", "features": "nesting=1"}
    assert root_only(options, creating=True)[1] == {"features": "nesting=1"}


def test_a_change_of_features_is_roots_since_those_before_are_not_known() -> None:
    assert root_only({"features": "nesting=1"})[1] == {"features": "nesting=1"}


def test_what_a_token_may_delete() -> None:
    keys = ["mp0", "dev0", "features", "hookscript", "swap"]
    assert root_only_keys(keys) == (("mp0", "swap"), ("dev0", "features", "hookscript"))
