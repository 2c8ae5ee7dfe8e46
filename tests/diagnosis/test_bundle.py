"""diagnose.pyz: the same bytes twice, nothing but what it needs, run by a bare machine's Python."""

import ast
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stoker.diagnosis import bundle

BARE = {"PATH": "/usr/bin:/bin"}


@pytest.fixture
def pyz(tmp_path: Path) -> Path:
    path = tmp_path / "diagnose.pyz"
    path.write_bytes(bundle.contents())
    path.chmod(0o755)
    return path


def test_it_finds_a_python_by_itself_and_answers_for_a_unit_that_is_none(pyz: Path) -> None:
    done = subprocess.run(
        [pyz, "units", "sglang@77.service"], cwd="/", env=BARE, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["unit"], told["death"], told["reports"]) == ("sglang@77.service", None, [])


def test_a_bare_python_runs_it_too_and_imports_nothing_from_elsewhere(pyz: Path) -> None:
    words = [sys.executable, "-I", "-S", str(pyz), "units", "sglang@77.service"]
    done = subprocess.run(words, cwd="/", env=BARE, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_is_the_same_file_wherever_it_is_made(tmp_path: Path) -> None:
    made = tmp_path / "made.pyz"
    words = [sys.executable, "-m", "stoker.diagnosis.bundle", str(made)]
    subprocess.run(words, check=True, cwd=Path(__file__).parents[2])
    assert made.read_bytes() == bundle.contents()


def test_all_of_it_is_python_3_9_and_its_tables_are_in_it() -> None:
    with zipfile.ZipFile(io.BytesIO(bundle.contents())) as file:
        names = file.namelist()
        for name in names:
            if name.endswith(".py"):
                ast.parse(file.read(name), name, feature_version=(3, 9))
    assert "stoker/health/crash/data/tables.json" in names
    assert "stoker/diagnosis/bundle.py" not in names
    assert {Path(name).suffix for name in names} <= {".py", ".json"}


def test_it_goes_on_when_a_deploy_puts_another_in_its_place(pyz: Path) -> None:
    gone = bundle.contents().replace(b"\nfor python", b'\nrm -- "$0"\nfor python', 1)
    pyz.write_bytes(gone)
    done = subprocess.run(
        [pyz, "units", "sglang@77.service"], cwd="/", env=BARE, capture_output=True, text=True
    )
    assert not pyz.exists()
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["unit"] == "sglang@77.service"


@pytest.mark.parametrize(("command", "code"), [("died", 0), ("gave-up", 0), ("units", 1)])
def test_where_it_cannot_even_be_loaded_that_is_one_line_and_no_death_fails(
    command: str, code: int, pyz: Path
) -> None:
    with zipfile.ZipFile(pyz, "w") as file:
        file.writestr("__main__.py", bundle._MAIN)
        file.writestr("stoker/__init__.py", "raise MemoryError('none left')")
    words = [sys.executable, "-I", "-S", str(pyz), command, "sglang.service"]
    done = subprocess.run(words, cwd="/", env=BARE, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == "cannot diagnose: MemoryError: none left\n"
