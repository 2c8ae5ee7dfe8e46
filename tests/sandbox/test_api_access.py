"""Users, roles, lists and tokens in Proxmox's own files, and the stand-in pveum of a node."""

from pathlib import Path

import pytest

from stoker.sandbox import account
from stoker.sandbox.node import access, cluster, pveum, store
from stoker.sandbox.node.died import Died

# As `pveum` left it on a real node, with a group and a comment, which the stand-in does not keep.
REAL = """\
user:root@pam:1:0:::root@example.org:::
user:stoker@pve:1:0::::a deployment%3A ours::
token:stoker@pve!deploy:0:1::

group:admins:root@pam::

pool:gpus:GPU containers:200,201:local-zfs:

role:StokerDeploy:VM.Allocate,VM.Audit:

acl:1:/:stoker@pve:StokerDeploy:
acl:0:/pool/gpus:stoker@pve!deploy:StokerDeploy,PVEAuditor:
"""


@pytest.fixture
def pve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cluster, "ROOT", str(tmp_path))
    monkeypatch.setattr(store, "require_cluster", lambda: None)
    return tmp_path


def test_a_real_file_is_read() -> None:
    found = access.parse(REAL)
    assert found.users == {"root@pam": True, "stoker@pve": True}
    assert found.tokens == {"stoker@pve!deploy": True}
    assert found.pools == {"gpus": {200, 201}}
    assert found.acl["/pool/gpus", "stoker@pve!deploy", "PVEAuditor"] is False
    assert found.privileges("stoker@pve", "/vms/999") == {"VM.Allocate", "VM.Audit"}
    # Its own entry is for the pool itself; the pool's guests get it all the same.
    assert found.privileges("stoker@pve!deploy", "/vms/200") == {"VM.Allocate", "VM.Audit"}
    assert found.privileges("stoker@pve!deploy", "/vms/202") == frozenset()


def test_what_is_written_is_read_back() -> None:
    once = access.parse(REAL)
    assert access.parse(access.render(once)) == once


def test_the_nearest_part_of_a_path_decides() -> None:
    found = access.Access(roles={"Few": frozenset(["VM.Audit"])}, users={"a@pve": True})
    found.acl["/", "a@pve", "Administrator"] = True
    found.acl["/vms/200", "a@pve", "Few"] = True
    found.acl["/vms/300", "a@pve", "NoAccess"] = True
    assert found.privileges("a@pve", "/vms/200") == {"VM.Audit"}
    assert found.privileges("a@pve", "/vms/300") == frozenset()
    assert "Sys.Modify" in found.privileges("a@pve", "/vms/201")


def test_pveum_makes_what_a_deployment_needs(pve: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (
        ["role", "add", "StokerDeploy", "--privs", "VM.Allocate VM.Audit"],
        ["user", "add", "stoker@pve"],
        ["acl", "modify", "/", "--users", "stoker@pve", "--roles", "StokerDeploy"],
        ["user", "token", "add", "stoker@pve", "deploy", "--privsep=0"],
    ):
        assert pveum.main(line) == 0
    secret = (pve / "priv/token.cfg").read_text().split()[1]
    assert secret in capsys.readouterr().out
    assert (pve / "priv/token.cfg").stat().st_mode & 0o777 == 0o600
    assert (pve / "user.cfg").read_text().splitlines() == [
        "user:root@pam:1:0::::::",
        "user:stoker@pve:1:0::::::",
        "token:stoker@pve!deploy:0:0::",
        *("", "", ""),
        "role:StokerDeploy:VM.Allocate,VM.Audit:",
        "",
        "acl:1:/:stoker@pve:StokerDeploy:",
    ]
    assert pveum.main(["user", "token", "remove", "stoker@pve", "deploy"]) == 0
    assert (pve / "priv/token.cfg").read_text() == ""
    assert pveum.main(["user", "delete", "stoker@pve"]) == 0
    assert access.load().acl == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["role", "add", "X", "--privs", "VM.Nosuch"], "privs: invalid format - invalid privilege"),
        (["user", "token", "add", "nobody@pve", "x"], "no such user ('nobody@pve')"),
        (["acl", "modify", "/", "--users", "root@pam", "--roles", "Nosuch"], "role 'Nosuch' does"),
        (["nosuch", "thing"], "ERROR: unknown command 'pveum nosuch thing'"),
    ],
)
def test_pveum_says_what_is_wrong(
    pve: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pveum.main(words) != 0
    assert told in capsys.readouterr().err


def test_an_instances_account_is_put_beside_what_is_there(pve: Path) -> None:
    (pve / "user.cfg").write_text(REAL)
    account.placed(pve, "the-secret")
    account.placed(pve, "the-secret")
    found = access.load()
    assert found.pools == {"gpus": {200, 201}}
    assert found.roles[account.ROLE] == account.PRIVILEGES
    for path in ("/vms/200", "/storage/local", "/sdn/zones/localnetwork/vmbr0"):
        assert found.privileges(account.TOKEN, path) >= account.PRIVILEGES
    assert access.secrets() == {account.TOKEN: "the-secret"}


def test_a_guest_that_is_gone_is_in_no_pool_and_no_list() -> None:
    found = access.parse(REAL + "acl:1:/vms/200:stoker@pve:PVEAuditor:\n")
    found.forget(200)
    assert found.pools == {"gpus": {201}}
    assert not [key for key in found.acl if key[0] == "/vms/200"]


def test_without_quorum_no_account_is_written(pve: Path) -> None:
    (pve / ".members").write_text('{"cluster": {"quorate": 0}}')
    with pytest.raises(Died, match=r"user\.cfg\.tmp\.\d+' - Permission denied$"):
        access.save(access.Access())
