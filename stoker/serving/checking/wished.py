"""Flag sets that an inventory names, checked by what they say alone: no host is asked."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from stoker.refused import Refused
from stoker.serving import loading, rules
from stoker.serving.checking import told
from stoker.serving.checking.asking import Facts
from stoker.serving.checking.written import of_flagset

FLAGSETS = Path("group_data/flagsets")


def check(site: Path, names: Iterable[str]) -> None:
    """Raises `Refused` with every refusal of every flag set: the recorded parser of its version
    and the known-bad rows know enough without the machine. `site` holds `group_data/`."""
    refusals = list(_refusals(site, names))
    if refusals:
        raise Refused("\n".join(["cannot use these flag sets; correct them:", *refusals]))


def _refusals(site: Path, names: Iterable[str]) -> Iterator[str]:
    rows = rules.load(site / rules.KNOWN_BAD)
    for flagset in loading.load(site / FLAGSETS, names):
        for reason in of_flagset(flagset, Facts(), rows).reasons:
            if reason.severity == "refuse":
                yield f"{flagset.name}:"
                yield from told.paragraph(reason)
