"""`pct` over ssh: the words that are typed, and what its answers mean.

The answers were recorded on a real node (pve-container 6.1.10).
"""

import pytest

from stoker.proxmox.errors import (
    AlreadyExists,
    Changed,
    Forbidden,
    Locked,
    NoSuchContainer,
    ProxmoxError,
    Rejected,
    TaskFailed,
    TaskUnknown,
)
from stoker.proxmox.pct import Pct
from tests.proxmox.conftest import TEMPLATE, Clock, Ended, Shell

LOCALE = b"""perl: warning: Setting locale failed.
perl: warning: Please check that your locale settings:
\tLANGUAGE = (unset),
\tLC_ALL = "de_DE.UTF-8",
\tLANG = "de_DE.UTF-8"
    are supported and installed on your system.
perl: warning: Falling back to the standard locale ("C").
"""


def test_the_words_of_every_call(shell: Shell) -> None:
    pct = Pct(shell, "pve1")
    pct.create(200, {"ostemplate": TEMPLATE, "hostname": "gpu-a", "description": "-a\nb"})
    pct.set(200, {"cores": "4"}, ["swap", "mp0"], "d1", ["dev0", "dev1"])
    pct.set(200, {}, ["swap"])
    pct.resize(200, "rootfs", "64G")
    pct.start(200)
    pct.shutdown(200, 180, True)
    pct.shutdown(200, 60, False)
    pct.snapshot(200, "before", "the change")
    pct.snapshot(200, "plain", "")
    pct.delete_snapshot(200, "before")
    assert all(words[:3] == ["env", "LC_ALL=C", "pct"] for words in shell.ran)
    assert [words[3:] for words in shell.ran] == [
        ["create", "200", TEMPLATE, "--hostname=gpu-a", "--description=-a\nb"],
        ["set", "200", "--cores=4", "--delete=swap,mp0", "--revert=dev0,dev1", "--digest=d1"],
        ["set", "200", "--delete=swap"],
        ["resize", "200", "rootfs", "64G"],
        ["start", "200"],
        ["shutdown", "200", "--timeout=180", "--forceStop=1"],
        ["shutdown", "200", "--timeout=60", "--forceStop=0"],
        ["snapshot", "200", "before", "--description=the change"],
        ["snapshot", "200", "plain"],
        ["delsnapshot", "200", "before"],
    ]


def test_a_change_of_nothing_is_never_typed(shell: Shell) -> None:
    Pct(shell, "pve1").set(200, {}, (), "d1")
    assert shell.ran == []


def failure(stderr: bytes, code: int = 255, stdout: bytes = b"", call: str = "set") -> ProxmoxError:
    pct = Pct(Shell({call: Ended(code, stdout, stderr)}), "pve1")
    with pytest.raises(ProxmoxError) as error:
        pct.set(200, {"cores": "4"}) if call == "set" else pct.start(200)
    assert "\n" not in str(error.value)
    return error.value


@pytest.mark.parametrize("code", [1, 2, 4, 255])
@pytest.mark.parametrize(
    ("stderr", "kind", "said"),
    [
        (b"CT is locked (backup)\n", Locked, "it is locked (backup)"),
        (
            b"trying to acquire lock...\n"
            b"can't lock file '/run/lock/lxc/pve-config-200.lock' - got timeout\n",
            Locked,
            "another task holds /run/lock/lxc/pve-config-200.lock",
        ),
        (
            b"Configuration file 'nodes/pve1/lxc/200.conf' does not exist\n",
            NoSuchContainer,
            "there is no nodes/pve1/lxc/200.conf",
        ),
        (
            b"detected modified configuration - file changed by other user? Try again.\n",
            Changed,
            "somebody changed its configuration",
        ),
        (
            b"400 Parameter verification failed.\n"
            b"vmid: type check ('integer') failed - got 'abc'\n"
            b"vmid: invalid format - value does not look like a valid VM ID\n"
            b"pct set <vmid> [OPTIONS]\n",
            Rejected,
            "Proxmox says: 400 Parameter verification failed. vmid: type check ('integer') failed"
            " - got 'abc' vmid: invalid format - value does not look like a valid VM ID; correct",
        ),
        (b"Unknown option: bad\n400 unable to parse option\npct set <vmid>\n", Rejected, "bad"),
        (b"Device /dev/nosuch does not exist\n", Rejected, "see pct config whether the change"),
        (b"unable to modify read-only option: 'unprivileged'\n", Rejected, "'unprivileged'"),
        (
            b"ipcc_send_rec[1] failed: Unknown error -1\n" * 3
            + b"Unable to load access control list: Unknown error -1\n",
            Forbidden,
            "pct was not run as root",
        ),
        (LOCALE + b"CT is locked (backup)\n", Locked, "it is locked (backup)"),
        (
            LOCALE + b"something new\n",
            ProxmoxError,
            "Proxmox says: something new; whether anything",
        ),
    ],
)
def test_its_words_decide_and_never_its_code(
    stderr: bytes, kind: type[Exception], said: str, code: int
) -> None:
    error = failure(stderr, code)
    assert type(error) is kind
    assert str(error).startswith("cannot change CT 200 on pve1: ")
    assert said in str(error)
    assert "perl" not in str(error) and "[OPTIONS]" not in str(error)


def test_a_task_that_fails_brings_its_last_lines_along() -> None:
    error = failure(
        b"startup for container '102' failed\n",
        stdout=b"a\nrun_buffer: 571 Script exited with status 2\n"
        b"lxc_init: 845 Failed to run lxc.hook.pre-start for container 102\n"
        b"__lxc_start: 2034 Failed to initialize container 102\n",
        call="start",
    )
    assert type(error) is TaskFailed
    assert "Proxmox says: startup for container '102' failed; its task ended so" in str(error)
    assert str(error).endswith("Failed to initialize container 102")


def test_a_failure_without_a_word_is_still_a_sentence() -> None:
    assert "Proxmox says: nothing" in str(failure(b""))
    assert "Proxmox says: odd; nothing" in str(failure(LOCALE, stdout=b"\nodd\n"))


@pytest.mark.parametrize("said", [b"CT 200 already running\n", b"CT 200 not running\n"])
def test_what_is_so_already_is_fine(said: bytes) -> None:
    ended = Ended(255, b"", said)
    pct = Pct(Shell({"start": ended, "shutdown": ended}), "pve1")
    assert pct.start(200) == ()
    assert pct.shutdown(200, 60, True) == ()


def test_words_beside_a_success_are_warnings() -> None:
    create = b"extracting\nWARN: Systemd 257 detected. You may need to enable nesting.\ndone\n"
    changed = b"cannot delete 'dev0' - not set in current configuration!\n"
    answers = {"create": Ended(0, create, LOCALE), "set": Ended(0, b"", LOCALE + changed)}
    pct = Pct(Shell(answers), "pve1")
    assert pct.create(200, {"ostemplate": TEMPLATE}) == (
        "WARN: Systemd 257 detected. You may need to enable nesting.",
    )
    assert pct.set(200, {}, ["dev0"]) == (changed.decode().strip(),)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (b"CT 200 already exists on node 'pve1'\n", AlreadyExists),
        (b"storage 'nosuch' does not exist\n", Rejected),
        (
            b"unable to create CT 111 - volume 'local:vztmpl/nosuch.tar.zst' does not exist\n",
            Rejected,
        ),
    ],
)
def test_a_creation_that_is_refused(said: bytes, kind: type[Exception]) -> None:
    with pytest.raises(ProxmoxError) as error:
        Pct(Shell({"create": Ended(255, b"", said)})).create(200, {"ostemplate": TEMPLATE})
    assert type(error.value) is kind


def test_a_command_that_took_too_long_may_have_worked() -> None:
    def run(words: object, timeout_s: float | None) -> Ended:
        assert timeout_s is not None
        raise TimeoutError(f"it took longer than {timeout_s:g} s and was killed")

    with pytest.raises(TaskUnknown, match="cannot start CT 200 on pve1 for certain: it took"):
        Pct(run, "pve1").start(200)


def test_a_shutdown_is_given_the_time_that_proxmox_takes() -> None:
    limits: list[float | None] = []

    def run(words: object, timeout_s: float | None) -> Ended:
        limits.append(timeout_s)
        return Ended()

    Pct(run).shutdown(200, 600, True)
    assert limits[0] is not None and limits[0] > 2 * 600 + 5


def test_what_the_ha_manager_has_is_awaited(clock: Clock, shell: Shell) -> None:
    status = iter([b"status: stopped\n", b"", b"status: running\n"])

    def run(words: list[str], timeout_s: float | None) -> Ended:
        shell.ran.append(list(words))
        if words[3] == "status":
            return Ended(0, next(status))
        return Ended(0, b"Requesting HA start for CT 200\n")

    Pct(run, "pve1", sleep=clock.sleep).start(200)
    assert [words[3] for words in shell.ran] == ["start", "status", "status", "status"]
    assert clock.slept == [1.0, 1.5]
