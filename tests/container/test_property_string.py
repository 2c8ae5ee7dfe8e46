import pytest

from stoker.container import property_string
from stoker.container.normal import same


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("mp0", "/a,mp=/b,ro=1", "volume=/a/,ro=on,mp=/b/"),
        ("mp0", "s:v,mp=/b,size=8G", "s:v,mp=/b,size=8192M,backup=0"),
        ("rootfs", "s:v,size=1T", "s:v,size=1024G,ro=no"),
        ("dev3", "/dev/x", "path=/dev/x,mode=0660,gid=0,deny-write=0"),
        ("net0", "name=e,bridge=b,ip6=2001:DB8::1/64", "bridge=b,name=e,ip6=2001:db8:0::1/64"),
        ("net0", "name=e,hwaddr=bc:24:11:00:00:0a", "name=e,hwaddr=BC:24:11:00:00:0A,type=veth"),
        ("features", "nesting=1,mount=nfs;cifs", "mount=cifs;nfs,nesting=yes,keyctl=0"),
        ("features", None, "nesting=0"),
        ("startup", "2,up=10", "order=2,up=10"),
        ("startup", None, ""),
        ("tags", "a;b", "B, a"),
        ("tags", None, ""),
        ("onboot", None, "0"),
        ("onboot", "1", "yes"),
        ("memory", None, "512"),
        ("description", "a\n", "a"),
        ("description", None, ""),
        ("nameserver", "192.0.2.1 192.0.2.2", "192.0.2.1,192.0.2.2"),
        ("hostname", "A", "a"),
    ],
)
def test_proxmox_takes_these_for_the_same(key: str, one: str | None, other: str | None) -> None:
    assert same(key, one, other) and same(key, other, one)


@pytest.mark.parametrize(
    ("key", "one", "other"),
    [
        ("mp0", "/a,mp=/b", "/a,mp=/b,ro=1"),
        ("mp0", None, "/a,mp=/b"),
        ("dev0", "/dev/x,mode=0666", "/dev/x"),
        ("dev0", None, ""),
        ("net0", "name=e,tag=1", "name=e,tag=2"),
        ("startup", "2", "order=2,up=10"),
        ("nameserver", "192.0.2.1 192.0.2.2", "192.0.2.2 192.0.2.1"),
        ("cores", None, "4"),
        ("memory", "a", "512"),
        ("timezone", "a", "b"),
    ],
)
def test_and_these_not(key: str, one: str | None, other: str | None) -> None:
    assert not same(key, one, other) and not same(key, other, one)


def test_a_change_leaves_what_it_does_not_say_in_its_place() -> None:
    edit = property_string.merging("net", {"mtu": "9000", "bridge": "vmbr1"})
    before = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,future=x,type=veth"
    assert edit(before) == before.replace("vmbr0", "vmbr1") + ",mtu=9000"
    assert edit(edit(before)) == edit(before)
