"""Whatever /proc says, the scan comes back and names no process that is not there."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stoker.recovery.scanning import scan

from . import trees
from .holding import TARGETS

_TEXTS = st.one_of(
    st.binary(max_size=80),
    st.sampled_from(
        [
            b"",
            b"10 (a) b) R 1 (c) S 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 3 0 100 0\n",
            b"10 (x) D 1 1 1 1 1 4 0 0 0 0 0 0 0 0 0 0 1 0 100 0\n",
            b"10 (x) Z 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 2 0 100 0\n",
            b"10 (x) S 1 1 1 1 1 x 0 0 0 0 0 0 0 0 0 0 -1 0 -5 0\n",
            b"7f00-7f01 r--p 0 00:05 12 /dev/nvidia0\n",
            b"zz r--p 0 00:05 12 /dev/nvidia0\n7f00",
            b"0::/lxc/200/ns\n",
            b"NSpid:\nSigPnd:\t\nShdPnd:\tzz\n",
            b"[<0>] f [nvidia]\n",
        ]
    ),
)
_FILES = ("stat", "status", "cgroup", "maps", "cmdline", "task/10/stat", "task/10/stack", "fd/3")
_TREES = st.dictionaries(
    st.sampled_from(["10", "11", "0", "007", "²", "self", "99999999999"]),
    st.dictionaries(st.sampled_from(_FILES), _TEXTS, max_size=8),
    max_size=3,
)


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(tree=_TREES)
def test_no_tree_confuses_it(tree: dict[str, dict[str, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        machine = trees.machine(root)
        for pid, files in tree.items():
            (root / "proc" / pid).mkdir()
            for name, content in files.items():
                trees.write(root / "proc" / pid / name, content)
        seen, completeness = scan(machine, TARGETS)
        assert {holder.pid for holder in seen} <= {int(pid) for pid in tree if pid.isdecimal()}
        assert completeness.seconds >= 0
