"""stoker.pyz: the same bytes twice, nothing but what a node needs, run by a bare python3."""

import ast
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from stoker.health.table import TABLE
from stoker.recovery import bundle

ROOT = Path(__file__).parents[2]
BARE = {"PATH": "/usr/bin:/bin"}


def names() -> list[str]:
    return zipfile.ZipFile(io.BytesIO(bundle.contents())).namelist()


def test_it_is_byte_identical_wherever_it_is_made(tmp_path: Path) -> None:
    for directory in ("a", "b"):
        target = tmp_path / directory / "stoker.pyz"
        target.parent.mkdir()
        words = [sys.executable, "-m", "stoker.recovery.bundle", str(target)]
        subprocess.run(words, cwd=ROOT, check=True, env={**BARE})
    first, second = (tmp_path / one / "stoker.pyz" for one in ("a", "b"))
    assert first.read_bytes() == second.read_bytes() == bundle.contents()
    assert first.stat().st_mode & 0o777 == 0o755


def test_it_holds_health_recovery_their_tables_and_the_token_script_only() -> None:
    allowed = ("stoker/health/", "stoker/recovery/")
    assert [n for n in names() if not n.startswith(allowed)] == [
        "__main__.py",
        "stoker/__init__.py",
    ]
    assert bundle.ASK_TOKEN in names()
    assert "stoker/recovery/bundle.py" not in names()
    assert {Path(name).suffix for name in names()} <= {".py", ".json"}


def test_of_the_classifier_a_node_has_only_the_words_for_its_own_half() -> None:
    crash = [name for name in names() if name.startswith(bundle.CRASH)]
    assert crash == list(bundle.TELLS)


def test_all_of_it_is_python_3_9() -> None:
    with zipfile.ZipFile(io.BytesIO(bundle.contents())) as file:
        for name in file.namelist():
            # The token's script runs under the venv's Python, which is a newer one.
            if name.endswith(".py") and name != bundle.ASK_TOKEN:
                ast.parse(file.read(name), name, feature_version=(3, 9))


def test_a_bare_python_finds_every_command_in_it(tmp_path: Path) -> None:
    bundle.main([str(tmp_path / "stoker.pyz")])
    for command in ("look", "evidence", "recover", "status", "clear", "watch"):
        done = subprocess.run(
            [tmp_path / "stoker.pyz", command, "--help"],
            cwd="/",
            env=BARE,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"usage: stoker.pyz {command} ")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle of sources of the test's own, whose main tells how it was run."""
    for name, text in {
        "__init__.py": "",
        "health/__init__.py": "",
        "health/data/tables.json": '{"a": 1}',
        "recovery/__init__.py": "",
        "recovery/__main__.py": "import json, pkgutil, sys\n"
        "def main():\n"
        "    table = pkgutil.get_data('stoker.health', 'data/tables.json')\n"
        "    print(json.dumps([sys.argv[1:], json.loads(table), 'site' in sys.modules]))\n"
        "    return 7\n",
        "serving/inside/ask_token.py": "",
    }.items():
        path = tmp_path / "stoker" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(bundle, "STOKER", tmp_path / "stoker")
    for cached in (bundle.contents, bundle._boot):
        monkeypatch.setattr(bundle, cached.__name__, cached.__wrapped__)
    return tmp_path


def test_the_file_runs_by_itself_and_finds_its_tables(small: Path) -> None:
    bundle.main([str(small / "stoker.pyz")])
    done = subprocess.run(
        [small / "stoker.pyz", "look", "--json"], cwd="/", env=BARE, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (7, '[["look", "--json"], {"a": 1}, false]\n')


def test_a_command_line_runs_it_without_a_file_or_standard_input(small: Path) -> None:
    command = bundle.command(["look", "it's"])
    done = subprocess.run(
        ["sh", "-c", command],
        cwd="/",
        env=BARE,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stdout) == (7, '[["look", "it\'s"], {"a": 1}, false]\n')


def test_the_whole_of_it_fits_into_one_word_of_a_command_line() -> None:
    # The connector gives it to `sh -c`, so quotes and all it must be one word.
    assert len(bundle.command(["look", "--json"])) < bundle.LONGEST_WORD * 0.9


def test_what_is_sent_still_has_the_words_of_the_ladder() -> None:
    """They are docstrings, which the rest of the sent program goes without."""
    for row in TABLE:
        for function in (row.evidence, *row.refuses):
            name = function.__module__.replace(".", "/") + ".py"
            assert not bundle._silent(name), f"{name}: {function.__name__}"
