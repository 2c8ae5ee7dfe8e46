"""The stand-in answers as a real node did: command, exit code and both streams, word for word.

Recorded with pve-container 6.1.10 on a node with the containers 103 (running), 104 (stopped,
`lock: backup`), 106 (stopped) and 107 (running, `lock: snapshot`). Where the real exit code is
not stable (perl's leftover errno) it is the one that was measured. The node's line numbers of
lxc's own source are left out.
"""

import re
from collections.abc import Iterator

import pytest

from tests.sandbox.pct_node import NodeShell

pytestmark = pytest.mark.sandbox

# Container of the recording -> container of the sandbox.
IDS = {"103": "200", "107": "201"}
STOPPED = "arch: amd64\nhostname: still\nmemory: 512\nostype: debian\nunprivileged: 1\n"

MISSING = "Configuration file 'nodes/pve1/lxc/999.conf' does not exist\n"
VMID = "400 Parameter verification failed.\nvmid: "
EXEC_USAGE = "pct exec <vmid> [<extra-args>] [OPTIONS]\n"
SET_USAGE = "pct set <vmid> [OPTIONS]\n"
BAD = "400 Parameter verification failed.\n"

Row = tuple[str, int, str, str]
ROWS: list[Row] = [
    # An id that this node does not have.
    ("pct status 999", 2, "", MISSING),
    ("pct config 999", 2, "", MISSING),
    ("pct exec 999 -- true", 2, "", MISSING),
    ("pct enter 999", 2, "", MISSING),
    ("pct set 999 --memory 64", 2, "", MISSING),
    ("pct destroy 999", 2, "", MISSING),
    ("pct start 999", 255, "", MISSING),
    ("pct stop 999", 255, "", "CT 999 not running\n"),
    ("pct shutdown 999", 255, "", "CT 999 not running\n"),
    ("pct push 999 /etc/hosts /root/f", 255, "", "can only push files to a running CT\n"),
    (
        "pct pull 999 /etc/hosts /tmp/f",
        255,
        "",
        "can only pull files from a running VM at /usr/share/perl5/PVE/CLI/pct.pm line 664.\n",
    ),
    # Stopped, running, locked.
    ("pct status 106", 0, "status: stopped\n", ""),
    ("pct status 103", 0, "status: running\n", ""),
    ("pct exec 106 -- true", 255, "", "container '106' not running!\n"),
    ("pct enter 106", 255, "", "container '106' not running!\n"),
    ("pct stop 106", 255, "", "CT 106 not running\n"),
    ("pct shutdown 106", 255, "", "CT 106 not running\n"),
    ("pct reboot 106", 255, "", "VM 106 not running\n"),
    ("pct start 103", 255, "", "CT 103 already running\n"),
    ("pct start 104", 255, "", "CT is locked (backup)\n"),
    ("pct set 104 --memory 1024", 255, "", "CT is locked (backup)\n"),
    ("pct stop 107", 255, "", "CT is locked (snapshot)\n"),
    ("pct shutdown 107", 255, "", "CT is locked (snapshot)\n"),
    ("pct set 107 --memory 1024", 255, "", "CT is locked (snapshot)\n"),
    ("pct exec 107 -- echo works", 0, "works\n", ""),
    ("pct push 107 /etc/hostname /root/pushed", 0, "", ""),
    ("pct status 107", 0, "status: running\n", ""),
    # The command line.
    ("pct exec abc true", 2, "", f"{VMID}type check ('integer') failed - got 'abc'\n{EXEC_USAGE}"),
    (
        "pct exec 99 true",
        2,
        "",
        f"{VMID}invalid format - value does not look like a valid VM ID\n{EXEC_USAGE}",
    ),
    ("pct exec --bad", 2, "", f"Unknown option: bad\n400 unable to parse option\n{EXEC_USAGE}"),
    ("pct exec --help", 255, "", f"Unknown option: help\n400 unable to parse option\n{EXEC_USAGE}"),
    ("pct exec 103 ls -la", 2, "", f"Unknown option: la\n400 unable to parse option\n{EXEC_USAGE}"),
    ("pct exec", 255, "", f"400 not enough arguments\n{EXEC_USAGE}"),
    (
        "pct exec 103",
        255,
        "",
        "missing command at /usr/share/perl5/PVE/CLI/pct.pm line 246.\n",
    ),
    # Exit codes of the command itself.
    ("pct exec 103 -- sh -c 'exit 42'", 42, "", ""),
    ("pct exec 103 -- sh -c 'exit 255'", 255, "", ""),
    ("pct exec 103 -- sh -c 'exit 2'", 2, "", ""),
    ("pct exec 103 -- sh -c 'kill -9 $$'", 137, "", ""),
    ("pct exec 103 -- sh -c 'kill -TERM $$'", 143, "", ""),
    (
        "pct exec 103 -- nosuchcmd",
        127,
        "",
        "lxc-attach: 103: ../src/lxc/attach.c: lxc_attach_run_command: N "
        'No such file or directory - Failed to exec "nosuchcmd"\n',
    ),
    (
        "pct exec 103 -- /etc/passwd",
        126,
        "",
        "lxc-attach: 103: ../src/lxc/attach.c: lxc_attach_run_command: N "
        'Permission denied - Failed to exec "/etc/passwd"\n',
    ),
    ("pct enter 103 <<< 'echo entered; exit 3'", 3, "entered\n", ""),
    ("pct exec 103 -- sh -c 'echo out; echo err >&2'", 0, "out\n", "err\n"),
    # Its environment, and where it is.
    (
        "env -i FOO=bar HOME=/root SSL_CERT_FILE=/x TERM=xterm /usr/sbin/pct exec 103 -- "
        "sh -c 'env | sort'",
        0,
        "FOO=bar\nHOME=/root\nPATH=/sbin:/bin:/usr/sbin:/usr/bin\nPWD=/root\nTERM=linux\n"
        "container=lxc\n",
        "",
    ),
    (
        "FOO=bar pct exec 103 --keep-env 0 -- env",
        0,
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\ncontainer=lxc\n"
        "TERM=linux\n",
        "",
    ),
    ("cd /var/lib && pct exec 103 -- pwd", 0, "/var/lib\n", ""),
    ("cd /usr/lib/stoker-sandbox && pct exec 103 -- pwd", 0, "/\n", ""),
    ("pct exec 103 -- id -u", 0, "0\n", ""),
    ("pct exec 103 -- sh -c 'yes | head -1'", 0, "y\n", ""),
    # Copies: an error and still 0.
    ("pct push 103 /tmp/nosuch /root/f", 0, "", "failed to open /tmp/nosuch for reading\n"),
    ("pct push 103 - /root/f", 0, "", "failed to open - for reading\n"),
    (
        "pct push 103 /etc/hosts /nodir/sub/f",
        0,
        "",
        "failed to create file: /nodir/sub/f: No such file or directory\n",
    ),
    ("pct push 103 /etc/hosts /root", 0, "", "failed to create file: /root: Is a directory\n"),
    ("pct push 103 /etc/hosts /root/", 0, "", "failed to create file: /root/: Is a directory\n"),
    ("pct push 103 /etc/hosts /root/f --perms u+x", 0, "", "invalid mode: '0u+x'\n"),
    ("pct push 103 /etc/hosts /root/f --user nosuch", 0, "", "failed to get uid for: nosuch\n"),
    ("pct push 103 /etc/hosts /root/f --group nosuch", 0, "", "failed to get gid for: nosuch\n"),
    (
        "pct pull 103 /root/nosuch /tmp/f",
        0,
        "",
        "failed to open /root/nosuch: No such file or directory\n",
    ),
    (
        "pct pull 103 /etc/debian_chroot /dev/stdout; pct pull 103 /etc/hostname /dev/stdout",
        0,
        "ct200\n",
        "failed to open /etc/debian_chroot: No such file or directory\n",
    ),
    # Settings.
    ("pct set 106", 255, "", "no options specified\n"),
    (
        "pct set 106 --unprivileged 0",
        255,
        "",
        "unable to modify read-only option: 'unprivileged'\n",
    ),
    ("pct set 106 --delete memory", 255, "", "unable to delete required option 'memory'\n"),
    ("pct set 106 --delete nosuch", 2, "", f"{BAD}delete: unknown option 'nosuch'\n{SET_USAGE}"),
    (
        "pct set 106 --delete dev0",
        0,
        "",
        "cannot delete 'dev0' - not set in current configuration!\n",
    ),
    ("pct set 106 --dev0 /dev/nosuch", 255, "", "Device /dev/nosuch does not exist\n"),
    (
        "pct set 106 --dev0 fuse",
        2,
        "",
        f"{BAD}dev0: invalid format - format error\n"
        f"dev0.path: invalid format - fuse is not a valid device path\n{SET_USAGE}",
    ),
    (
        "pct set 106 --dev0 /dev/null,mode=999",
        2,
        "",
        f"{BAD}dev0: invalid format - format error\n"
        f"dev0.mode: value does not match the regex pattern\n{SET_USAGE}",
    ),
    (
        "pct set 106 --lxc.mount.entry x",
        2,
        "",
        f"Unknown option: lxc.mount.entry\n400 unable to parse option\n{SET_USAGE}",
    ),
    (
        "pct set 106 --hookscript local:snippets/h.sh",
        255,
        "",
        "script 'local:snippets/h.sh' does not exist\n",
    ),
    (
        "pct set 106 --memory 1024 --digest 0000",
        255,
        "",
        "detected modified configuration - file changed by other user? Try again.\n",
    ),
    # Making and removing.
    ("pct create 106 local:vztmpl/x", 255, "", "CT 106 already exists on node 'pve1'\n"),
    (
        "pct create 111 local:vztmpl/x --rootfs nosuch:8",
        255,
        "",
        "storage 'nosuch' does not exist\n",
    ),
    (
        "pct create 111 local:vztmpl/nosuch.tar.zst; ls /etc/pve/lxc",
        0,
        "104.conf\n106.conf\n200.conf\n201.conf\n",
        "unable to create CT 111 - volume 'local:vztmpl/nosuch.tar.zst' does not exist\n",
    ),
    ("pct destroy 103", 255, "", "unable to destroy CT 103 - container is running\n"),
    (
        "pct config 106 --output-format json",
        2,
        "",
        "Unknown option: output-format\n400 unable to parse option\npct config <vmid> [OPTIONS]\n",
    ),
    # Who asks.
    (
        "setpriv --reuid 65534 pct list",
        255,
        "",
        "ipcc_send_rec[1] failed: Unknown error -1\nipcc_send_rec[2] failed: Unknown error -1\n"
        "ipcc_send_rec[3] failed: Unknown error -1\n"
        "Unable to load access control list: Unknown error -1\n",
    ),
]


@pytest.fixture(scope="module")
def recorded(pct_node: NodeShell) -> Iterator[NodeShell]:
    """The node with the containers of the recording."""
    pct_node.write("/etc/pve/lxc/106.conf", STOPPED)
    pct_node.write("/etc/pve/lxc/104.conf", STOPPED + "lock: backup\n")
    pct_node.good("sed", "-i", "1i lock: snapshot", "/etc/pve/lxc/201.conf")
    yield pct_node
    pct_node.good("sed", "-i", "/^lock: /d", "/etc/pve/lxc/201.conf")
    pct_node.good("rm", "/etc/pve/lxc/104.conf", "/etc/pve/lxc/106.conf")


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_command_answers_as_the_real_one_did(recorded: NodeShell, row: Row) -> None:
    line, code, out, err = row
    answer = recorded.shell(f"export LC_ALL=C; {_translated(line)}")
    said = re.sub(r"(lxc_attach_run_command): \d+ ", r"\1: N ", answer.err)
    assert (answer.code, answer.out, said) == (code, _translated(out), _translated(err))


def test_an_unknown_sub_command_gets_the_usage(recorded: NodeShell) -> None:
    answer = recorded.run("pct", "nosuch")
    assert answer.code == 255
    assert answer.err.startswith("ERROR: unknown command 'pct nosuch'\nUSAGE: pct <COMMAND> ")


def test_the_list_is_read_by_column_since_a_lock_may_be_blank(recorded: NodeShell) -> None:
    assert recorded.good("pct", "list").split("\n") == [
        "VMID       Status     Lock         Name                ",
        "104        stopped    backup       still               ",
        "106        stopped                 still               ",
        "200        running                 ct200               ",
        "201        running    snapshot     ct201               ",
        "",
    ]


def test_a_lock_held_by_another_is_waited_for_ten_seconds(recorded: NodeShell) -> None:
    lock = "/run/lock/lxc/pve-config-106.lock"
    answer = recorded.shell(f"flock {lock} sleep 12 & sleep 0.3; pct set 106 --memory 600")
    assert answer.code == 4
    assert answer.err == (f"trying to acquire lock...\ncan't lock file '{lock}' - got timeout\n")


def test_without_its_cluster_file_system_nothing_works(recorded: NodeShell) -> None:
    away = "mv /etc/pve/nodes /etc/pve/away; pct status 106; mv /etc/pve/away /etc/pve/nodes"
    answer = recorded.shell(away)
    assert "ipcc_send_rec[1] failed: Connection refused\n" in answer.err


def _translated(text: str) -> str:
    for recorded, ours in IDS.items():
        text = re.sub(rf"\b{recorded}\b", ours, text)
    return text
