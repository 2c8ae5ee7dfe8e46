"""pyinfra's command line, which at its end writes what it sent to the file $BENCH_TALLY.

A JSON object: `commands` to all hosts together, `connected_to_last_s` from the first connect to the
end of the last command, `import_s` from the first line of this file to the start of the run.
"""

import time

_BORN = time.perf_counter()

import atexit  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from pyinfra_cli.main import main  # noqa: E402  # it patches the standard library for gevent

from pyinfra.api.host import Host  # noqa: E402  # isort: skip

_tally = {"commands": 0, "connected_to_last_s": 0.0, "import_s": time.perf_counter() - _BORN}
_first: list[float] = []
_connect, _run = Host.connect, Host.run_shell_command


def _timed_connect(self: Host, *args: Any, **arguments: Any) -> Any:
    _first.append(time.perf_counter())
    return _connect(self, *args, **arguments)


def _counted_run(self: Host, *args: Any, **arguments: Any) -> Any:
    _tally["commands"] += 1
    try:
        return _run(self, *args, **arguments)
    finally:
        _tally["connected_to_last_s"] = time.perf_counter() - _first[0]


def _write() -> None:
    Path(os.environ["BENCH_TALLY"]).write_text(json.dumps(_tally))


setattr(Host, "connect", _timed_connect)  # noqa: B010 - mypy will not have a method replaced
setattr(Host, "run_shell_command", _counted_run)  # noqa: B010
atexit.register(_write)
main()
