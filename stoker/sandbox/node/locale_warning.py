"""Stand-in: perl's complaint about a locale that the node does not have.

It comes with exit code 0 whenever ssh forwards a LANG or LC_* that was never generated there.
"""

from __future__ import annotations

import locale
import sys
from typing import Mapping


def text(environ: Mapping[str, str]) -> str:
    """What perl prints, naming every locale variable that is set."""
    shown = [("LANGUAGE", environ.get("LANGUAGE")), ("LC_ALL", environ.get("LC_ALL"))]
    others = sorted(name for name in environ if name.startswith("LC_") and name != "LC_ALL")
    shown += [(name, environ[name]) for name in others]
    shown.append(("LANG", environ.get("LANG")))
    lines = [f"\t{name} = " + (f'"{value}"' if value else "(unset)") for name, value in shown]
    return "\n".join(
        [
            "perl: warning: Setting locale failed.",
            "perl: warning: Please check that your locale settings:",
            ",\n".join(lines),
            "    are supported and installed on your system.",
            'perl: warning: Falling back to the standard locale ("C").',
        ]
    )


def warn(environ: Mapping[str, str]) -> None:
    """Print it where the environment asks for a locale that is not installed."""
    if environ.get("PERL_BADLANG") == "0":
        return
    try:
        locale.setlocale(locale.LC_ALL, "")
    except locale.Error:
        print(text(environ), file=sys.stderr, flush=True)
