import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stoker.recovery import calling

ROOT = Path(__file__).parent.parent.parent
LINES = [
    {"time": 1.0, "rung": "R1", "event": "would", "text": "would stop sglang.service"},
    {"time": 1.0, "rung": "R1", "event": "command"},
    {"time": 1.1, "event": "end", "code": 0, "changed": True, "text": "free"},
]


def test_the_lines_of_a_run_are_understood() -> None:
    said = "\n".join(json.dumps(line) for line in LINES)
    assert calling.told(said, 0) == calling.Told(0, True, ("would stop sglang.service", "free"))


def test_a_crash_shows_as_it_stands_and_changes_nothing() -> None:
    told = calling.told("Traceback:\n  x\n[1]\n{}\n", 1)
    assert told == calling.Told(1, False, ("Traceback:", "x", "[1]", "{}"))


def stand_in(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(calling, "myself", lambda: [sys.executable, "-c", script])


def test_a_run_is_asked_by_its_words_and_followed_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in(
        monkeypatch,
        "import json, sys; print(json.dumps({'event': 'end', 'text': ' '.join(sys.argv[1:]),"
        " 'changed': False})); sys.exit(11)",
    )
    told = calling.recover(200, ["--allow-restart"])
    assert told == calling.Told(11, False, ("recover 200 --allow-restart --json",))


def test_a_run_that_takes_long_is_left_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "import time; print('begun', flush=True); time.sleep(60)")
    monkeypatch.setattr(calling, "FOLLOW_S", 0.2)
    assert calling.recover(200, []) == calling.Told(None, False, ("begun",))


def test_it_calls_the_file_or_the_checkout_that_it_came_in(tmp_path: Path) -> None:
    assert calling.myself() == [sys.executable, "-m", "stoker.recovery"]
    one_file = tmp_path / "stoker.pyz"
    with zipfile.ZipFile(one_file, "w") as file:
        file.writestr("__main__.py", "from stoker.recovery.calling import myself; print(myself())")
        for package in ("health", "recovery"):
            for path in (ROOT / "stoker" / package).rglob("*.py"):
                file.write(path, path.relative_to(ROOT))
        file.write(ROOT / "stoker" / "__init__.py", "stoker/__init__.py")
    words = [sys.executable, "-IS", str(one_file)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert said.strip() == str([sys.executable, "-I", "-S", str(one_file)])
