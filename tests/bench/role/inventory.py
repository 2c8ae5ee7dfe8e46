"""The containers of one measurement, from the file that the bench names in $BENCH_HOSTS."""

import json as _json
import os as _os
from pathlib import Path as _Path

_hosts = _json.loads(_Path(_os.environ["BENCH_HOSTS"]).read_text())
containers = [(_host["name"], _host["data"]) for _host in _hosts]
