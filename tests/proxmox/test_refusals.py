"""Every way in which Proxmox says no, as fakepve and a real node word it."""

from typing import Any

import pytest

from stoker.proxmox import errors
from stoker.proxmox.api import Session
from stoker.proxmox.by_api import ByApi
from stoker.proxmox.refusals import error
from tests.proxmox.conftest import TEMPLATE

CONFIG = "/nodes/pve1/lxc/200/config"


def raised(act: Any) -> errors.ProxmoxError:
    with pytest.raises(errors.ProxmoxError) as caught:
        act()
    said = str(caught.value)
    assert said.startswith("cannot ") and "\n" not in said
    return caught.value


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("locked", errors.Locked, "it is locked (backup)"),
        ("config_lock_timeout", errors.Locked, "another task holds /run/lock/lxc/pve-config-200"),
        ("no_quorum", errors.NoQuorum, "the cluster has no quorum"),
        ("configuration_file_does_not_exist", errors.NoSuchContainer, "no nodes/pve1/lxc/200.conf"),
        ("permission_denied", errors.Forbidden, "/vms/200, VM.Config.Disk"),
        (
            "permission_check_failed_configuring_device",
            errors.Forbidden,
            "configuring device passthrough is only allowed for root@pam",
        ),
        (
            "permission_check_failed_changing_feature_2",
            errors.Forbidden,
            "changing feature flags (except nesting) is only allowed for root@pam",
        ),
        ("only_root_can_pass_arbitrary", errors.Forbidden, "Only root can pass arbitrary"),
        ("param_delete_unknown_option", errors.Rejected, "delete: unknown option"),
        ("unable_modify_read_only_option", errors.Rejected, "unable to modify read-only option"),
        ("storage_does_not_exist", errors.Rejected, "storage 'local' does not exist"),
        ("not_implemented", errors.Rejected, "not implemented"),
        ("no_route_to_host", errors.NodeOffline, "No route to host"),
        ("hostname_lookup_failed", errors.NodeOffline, "no node pve1 is known there"),
        ("invalid_ticket", errors.Unauthorized, "invalid PVE ticket"),
        ("invalid_csrf", errors.Unauthorized, "invalid csrf token"),
        ("missing_arch_internal_error", errors.ProxmoxError, "missing 'arch' - internal error"),
    ],
)
def test_a_change_that_is_refused_says_why(
    fakepve: Any, api: ByApi, name: str, kind: type[Exception], said: str
) -> None:
    fakepve.add_ct(200)
    fakepve.fail("PUT", CONFIG, error=name)
    caught = raised(lambda: api.set(200, {"cores": "2"}))
    assert type(caught) is kind
    assert said in str(caught)
    # Proxmox raises words that nobody listed after it saved, too.
    known = kind is not errors.ProxmoxError
    assert str(caught).endswith("nothing was changed" if known else "changed it does not say")
    assert sum(request[0] == "PUT" for request in fakepve.requests) == 1


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (400, errors.Rejected, "no such task; look at the node's tasks"),
        (401, errors.Unauthorized, "(no such task)"),
        (500, errors.Rejected, "no such task"),
        (595, errors.NodeOffline, "nothing was changed"),
        (596, errors.NodeOffline, "whether it was done is not known"),
        (599, errors.NodeOffline, "whether it was done is not known"),
        (418, errors.Rejected, "no such task"),
    ],
)
def test_a_status_that_nobody_wrote_down_is_still_one_sentence(
    fakepve: Any, session: Session, status: int, kind: type[Exception], said: str
) -> None:
    fakepve.fail("POST", "/nodes/pve1/lxc", status, "no such task")
    caught = raised(lambda: session.post("nodes/pve1/lxc", vmid="200", ostemplate="x"))
    assert type(caught) is kind
    assert said in str(caught)


def test_the_message_of_an_older_proxmox_is_in_the_status_line(
    fakepve: Any, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "stoker.proxmox.answers.Answers.loads_errors", lambda self, response: {"data": None}
    )
    fakepve.fail("GET", "/version", 500, "CT is locked (migrate)")
    assert type(raised(lambda: session.get("version"))) is errors.Locked


def test_an_offline_node_is_told_from_an_offline_api(fakepve: Any, session: Session) -> None:
    fakepve.add_node("pve2", online=False)
    assert type(raised(lambda: session.get("nodes/pve2/lxc"))) is errors.NodeOffline
    assert session.get("nodes/pve1/lxc") == []


def test_a_read_of_what_is_not_there_is_500_and_known(fakepve: Any, session: Session) -> None:
    caught = raised(lambda: session.get("nodes/pve1/lxc/999/config"))
    assert type(caught) is errors.NoSuchContainer
    assert str(caught).startswith("cannot read nodes/pve1/lxc/999/config: ")


class TestMaking:
    """POST /nodes/N/lxc refuses at once, or in its task."""

    def make(self, api: ByApi, vmid: int = 200, **options: str) -> errors.ProxmoxError:
        asked = {"ostemplate": TEMPLATE, "rootfs": "local-lvm:8", **options}
        return raised(lambda: api.create(vmid, asked))

    def test_a_vmid_that_is_taken(self, fakepve: Any, api: ByApi) -> None:
        fakepve.add_vm(200, "vm", node="pve2")
        assert type(self.make(api)) is errors.AlreadyExists

    def test_a_vmid_that_is_none(self, fakepve: Any, api: ByApi) -> None:
        caught = self.make(api, 99)
        assert type(caught) is errors.Rejected and "vmid: " in str(caught)

    def test_several_wrong_parameters_at_once(self, fakepve: Any, api: ByApi) -> None:
        caught = self.make(api, cores="many", memory="much")
        assert "cores: " in str(caught) and "memory: " in str(caught)

    def test_a_storage_that_is_not_there(self, fakepve: Any, api: ByApi) -> None:
        caught = self.make(api, rootfs="nosuch:8")
        assert type(caught) is errors.Rejected and "'nosuch' does not exist" in str(caught)

    def test_a_template_that_is_not_there(self, fakepve: Any, api: ByApi) -> None:
        fakepve.storages["local"]["volumes"] = {}
        message = f"unable to create CT 200 - volume '{TEMPLATE}' does not exist"
        fakepve.volume_exists = lambda volume: False
        caught = self.make(api)
        assert type(caught) is errors.Rejected and f"volume '{TEMPLATE}'" in str(caught)
        assert fakepve.tasklog[-1]["exitstatus"] == message

    def test_no_quorum(self, fakepve: Any, api: ByApi) -> None:
        fakepve.lose_quorum()
        assert type(self.make(api)) is errors.NoQuorum

    def test_what_was_cut_off_is_locked(self, fakepve: Any, api: ByApi) -> None:
        fakepve.add_ct(200, lock="create")
        for act in (
            lambda: api.set(200, {"cores": "2"}),
            lambda: api.start(200),
            lambda: api.resize(200, "rootfs", "9G"),
            lambda: api.snapshot(200, "before", ""),
        ):
            caught = raised(act)
            assert type(caught) is errors.Locked and "(create)" in str(caught)


def test_what_a_running_container_does_not_take_may_be_noted_or_not(
    fakepve: Any, api: ByApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"memory": "unable to hotplug memory: failed to set memory limit"}
    answer = {"message": "Parameter verification failed.\n", "errors": fields}
    monkeypatch.setattr(
        "stoker.proxmox.answers.Answers.loads_errors", lambda self, response: answer
    )
    fakepve.add_ct(200)
    fakepve.fail("PUT", CONFIG, 400, "Parameter verification failed.")
    caught = raised(lambda: api.set(200, {"memory": "512"}))
    assert type(caught) is errors.Rejected
    assert "could not change that while it runs (unable to hotplug memory: failed" in str(caught)
    assert str(caught).endswith("see pct pending whether it is noted")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("unable to open file '/etc/pve/lxc/200.conf.tmp.1' - Permission denied", errors.NoQuorum),
        ("cfs-lock 'file-user_cfg' error: no quorum!", errors.NoQuorum),
        ("ipcc_send_rec[1] failed: Unknown error -1", errors.Forbidden),
        ("ipcc_send_rec[1] failed: Connection refused", errors.ProxmoxError),
        ("container '106' not running!", errors.AlreadySo),
        ("", errors.ProxmoxError),
    ],
)
def test_words_of_a_node_in_trouble(said: str, kind: type[Exception]) -> None:
    assert type(error(said, "do it")) is kind
