"""Stand-in: what starting Proxmox's Perl costs, in CPU and not in sleep.

The real `pct` loads 443 Perl modules: 547 ms of wall time and about 0.6 CPU-seconds on an idle
core, so eight at once on two cores take far longer than one. A sleep would hide exactly that.
"""

from __future__ import annotations

import time

SETTING = "/etc/stoker-sandbox/pct-cost"
MEASURED_S = 0.6


def seconds() -> float:
    """CPU-seconds to burn: the setting's number, the measured 0.6 where there is no setting."""
    try:
        with open(SETTING) as setting:
            return float(setting.read())
    except FileNotFoundError:
        return MEASURED_S


def burn() -> None:
    """Use up CPU until this process has used `seconds()` since it was started."""
    wanted = seconds()
    while time.process_time() < wanted:
        sum(range(2000))
