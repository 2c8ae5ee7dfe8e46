"""A fact asked of this machine, the way pyinfra asks a host."""

import subprocess
from typing import Any


def asked(fact: Any, **arguments: Any) -> Any:
    """Run the fact's own command in a shell and let the fact read what it printed."""
    words = fact.command(**arguments).get_raw_value()
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=True)
    return fact.process(done.stdout.splitlines())
