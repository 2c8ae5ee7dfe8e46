"""What other programs around the server say in its log: a parser, compilers, a loader, shells.

Also the server's own words about its end, which are never a cause.
"""

from __future__ import annotations

import re

_USAGE = re.compile(r"(?P<program>[\w./ -]{1,80}): error: (?P<said>.{1,4000})")
_COMPILER = re.compile(r"[\w./+~-]{1,300}:\d{1,7}(?::\d{1,6})?: (?:fatal )?error: (?P<said>.*)")
_TOOL = re.compile(
    r"(?:nvcc|ptxas|gcc|g\+\+|cc1plus|c\+\+|ninja|nvlink)[\w./-]{0,40} {0,2}"
    r"(?:info|fatal|error|: fatal error|: error) {0,3}: (?P<said>.*)"
)
_LOADER = re.compile(r"[\w./@+-]{1,300}: error while loading shared libraries: (?P<said>.*)")
_WARNING = re.compile(r"[\w./+<>-]{1,300}:\d{1,7}: [A-Z]\w{0,40}Warning: (?P<said>.*)")
_CAPABILITY = re.compile(r" {0,8}(?P<said>\S.{1,120} with CUDA capability sm_.*)")
_RUN = re.compile(
    r"(?:-?[\w./-]{1,80}: )?(?:line )?(?:\d{1,5}: )?(?:exec: |exec |unable to execute )?"
    r"['\"‘]?(?P<said>/\S.*)"
)
_LOOPS = re.compile(
    r".{0,300}?(?P<said>Back-off restarting failed|CrashLoopBackOff|Restarting \(\d{1,3}\) .{1,40})"
)
_RUNTIME_SAID = re.compile(r' {0,24}"?(?:Reason|reason|OOMKilled)"?: {1,24}"?(?P<said>OOMKilled)')
_CAUGHT = re.compile(r"\[[\w.-]{1,64}:\d{1,10} {0,2}:\d{1,6}:\d{1,10}\] (?P<said>Caught signal .*)")
LEFT = re.compile(r"[\w.-]{1,64} exited with code (?P<status>\d{1,3})(?: \(restarting\))?$")
CRASHED = re.compile(
    r"Subprocess (?P<name>\S{1,64}) \(pid=\d{1,10}\) crashed with exit code (?P<status>-?\d{1,4})"
)
ENDED = (
    ("Received sigquit from a child process", False),
    ("SIGQUIT received.", True),
    ("terminate called after throwing", False),
    ("terminate called without", False),
)
ASKED = ("SIGTERM received", "Gracefully exiting")
SHELL = re.compile(
    r"(?:[\w./ -]{1,120}: line \d{1,6}: {1,4}\d{1,10} |\[\d{1,3}\][+-]? {1,40}\d{0,10} ?)?"
    r"(?P<how>Killed|Segmentation fault|Bus error|Aborted)(?: {1,4}\(core dumped\))?(?: .{0,300})?$"
)
# Letters that such a line holds -> its form, and whose words they are.
SAYINGS = (
    (": error: ", _USAGE, "usage"),
    ("error: ", _COMPILER, "compiler"),
    (" : ", _TOOL, "compiler"),
    ("loading shared libraries", _LOADER, "loader"),
    ("Warning: ", _WARNING, "warning"),
    (" with CUDA capability ", _CAPABILITY, "warning"),
    ("/python", _RUN, "shell"),
    ("/sglang: ", _RUN, "shell"),
    ("bad interpreter: ", _RUN, "shell"),
    ("OOMKilled", _RUNTIME_SAID, "shell"),
    ("ack-off restarting failed", _LOOPS, "shell"),
    ("CrashLoopBackOff", _LOOPS, "shell"),
    ("Restarting (", _LOOPS, "shell"),
    ("] Caught signal ", _CAUGHT, "fatal"),
)
LAST_WORDS = ("usage", "loader", "shell", "fatal")
SHELLS = {"Killed": "-9", "Segmentation fault": "-11", "Bus error": "-7", "Aborted": "-6"}
RESTARTED = ("'python -m sglang.launch_server' is still supported",)
