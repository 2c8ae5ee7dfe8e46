"""What a reason may be called is in docs/checks.md, and what it names there exists."""

import re
from pathlib import Path

from stoker.serving import rules

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "checks.md").read_text()
CODE = [*(ROOT / "stoker" / "serving").rglob("*.py")]


def named_in_code() -> set[str]:
    """Every class that the code itself gives a reason."""
    pattern = re.compile(r'\b(?:Reason\(|mismatch\()\s*(?:name=)?"([a-z_]+)"')
    return {name for path in CODE for name in pattern.findall(path.read_text())}


def test_every_class_of_reasons_is_in_the_table() -> None:
    table = PAGE[PAGE.index("## The classes of reasons") : PAGE.index("## States")]
    told = set(re.findall(r"`([a-z_]+)`", table))
    classes = named_in_code() | {rule.name for rule in rules.load()}
    assert len(classes) > 30
    assert classes - told == set()
    assert told - classes == {"flagset_invalid"}
