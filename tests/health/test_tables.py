import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from stoker.health import tables, xids
from tables import build

ROW = {
    "number": 13,
    "title": "t",
    "nvidia": "n",
    "ceiling": "app",
    "note": "",
    "source": "s",
}


def problems(*rows: object) -> list[str]:
    return list(build.problems_of(list(rows), build.SCHEMAS["xids"]))


def test_the_tables_are_fresh() -> None:
    assert build.main(["--check"]) == 0, "run `make tables`"


def test_an_old_table_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "xids.yaml").write_text(yaml.safe_dump([ROW]))
    monkeypatch.setattr(build, "PLACES", (tmp_path,))
    assert build.main(["--check"]) == 1
    assert build.main([]) == 0
    assert build.main(["--check"]) == 0


def test_a_row_is_read_as_it_was_written() -> None:
    rows = {row["number"]: row for row in tables.rows("xids")}
    assert rows[79]["nvidia"] == "RESTART_BM"
    assert xids.meaning(79).note == rows[79]["note"]


def test_a_table_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError):
        tables.rows("weather")


def test_a_good_row_has_no_problem() -> None:
    assert problems(ROW) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"colour": "red"}, "row 1: colour: unknown key"),
        ({"number": "13"}, "row 1: number: is '13', wants int"),
        ({"number": True}, "row 1: number: is True, wants int"),
        ({"title": None}, "row 1: title: is None, wants str"),
        ({"ceiling": "sky"}, "row 1: ceiling: is 'sky', wants one of"),
        ({"source": ""}, "row 1: source: is empty"),
    ],
)
def test_a_wrong_row_is_told_by_place_and_key(change: dict[str, object], problem: str) -> None:
    assert problems({**ROW, **change})[0].startswith(problem)


def test_a_number_twice_is_told() -> None:
    assert problems(ROW, ROW) == ["row 2: number: 13 is there twice"]


def test_a_table_without_a_description_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "weather.yaml").write_text("[]")
    monkeypatch.setattr(build, "PLACES", (tmp_path,))
    assert build.main([]) == 2
    assert "weather.yaml: there is no such table" in capsys.readouterr().err


def test_the_tables_are_read_out_of_one_zipped_file(tmp_path: Path) -> None:
    root = Path(build.__file__).parent.parent
    one_file = tmp_path / "stoker.pyz"
    with zipfile.ZipFile(one_file, "w") as file:
        file.writestr(
            "__main__.py", "from stoker.health import xids; print(xids.meaning(79).ceiling)"
        )
        file.write(root / "stoker" / "__init__.py", "stoker/__init__.py")
        for path in (root / "stoker" / "health").rglob("*"):
            if path.suffix in (".py", ".json"):
                file.write(path, path.relative_to(root))
    words = [sys.executable, "-IS", str(one_file)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert said == "reboot\n"
