import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from stoker.serving import layout
from stoker.serving.loading import load
from stoker.serving.placement import units_of
from stoker.serving.rendering import files_of, unit_text
from tests.serving.flagsets import flagset, units

SHIPPED = Path(__file__).parents[2] / "group_data" / "flagsets"
NAMES = sorted(path.stem for path in SHIPPED.glob("*.yaml"))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
@pytest.mark.parametrize("name", NAMES)
def test_systemd_has_nothing_to_say_about_the_units(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # verify wants the programs to exist: those of this test do.
    monkeypatch.setattr(layout, "STAGER", PurePosixPath(tmp_path / "stage_model.sh"))
    monkeypatch.setattr(layout, "PUT_BACK", PurePosixPath(tmp_path / "put_back.sh"))
    (loaded,) = load(SHIPPED, [name])
    venv = tmp_path / "venv"
    for program in (
        venv / "bin" / "python",
        tmp_path / "stage_model.sh",
        tmp_path / "put_back.sh",
    ):
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch(mode=0o755)
    wanted = units_of(loaded, PurePosixPath(venv), PurePosixPath("/cuda"))
    written = [f for f in files_of(wanted) if f.path.suffix in (".service", ".timer")]
    for file in written:
        (tmp_path / file.path.name).write_text(file.text)
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / f.path.name) for f in written)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_the_unit_is_as_the_measured_rules_say() -> None:
    text = unit_text(units()[0])
    for line in (
        "Type=exec",
        "KillMode=mixed",
        "Restart=always",
        "StartLimitIntervalSec=7200",
        "StartLimitBurst=3",
        "TimeoutStopSec=180",
        "LimitMEMLOCK=infinity",
        "EnvironmentFile=/etc/stoker/sglang.env",
    ):
        assert f"\n{line}\n" in text
    # It would count a real kill -9 as success.
    assert "SuccessExitStatus" not in text


def test_units_lie_where_a_runtime_mask_stops_them() -> None:
    paths = [file.path for file in files_of(units()) if file.path.suffix == ".service"]
    folder = PurePosixPath("/usr/local/lib/systemd/system")
    assert paths == [
        folder / "stoker-gave-up@.service",
        folder / "stoker-put-back.service",
        folder / "sglang.service",
    ]


def test_a_template_places_values_and_decides_nothing() -> None:
    for template in Path("templates").glob("*.j2"):
        assert "{%" not in template.read_text()


def test_hostile_values_stay_one_line_each() -> None:
    (unit,) = units(flags={"chat-template": 'a "b" $HOME %n \\ ; c'}, description="100% $x")
    text = unit_text(unit)
    assert '--chat-template "a \\"b\\" $$HOME %%n \\\\ ; c"' in text
    assert "Description=SGLang 0.5.12: 100%% $x\n" in text


def test_a_model_in_memory_is_staged_before_its_servers() -> None:
    model = {"path": "/dev/shm/m", "staged_from": "/data/m"}
    two = units(placement={"layout": "one-per-gpu", "gpus": (0, 1)}, model=model)
    files = files_of(two)
    (stage,) = [f for f in files if f.path.name == "sglang-stage-tiny.service"]
    assert "ExecStart=/opt/stoker/launch/stage_model.sh /data/m /dev/shm/m\n" in stage.text
    for unit in two:
        assert "Requires=sglang-stage-tiny.service\n" in unit_text(unit)
        assert re.search(r"After=.*sglang-stage-tiny\.service\n", unit_text(unit))


def test_a_model_on_disk_needs_no_staging() -> None:
    assert not [f for f in files_of(units()) if "stage" in f.path.name]
    assert flagset().model.staged_from is None
