"""The role by pyinfra's own command, on hosts that only exist in its @fake connector."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INVENTORY = """\
_fake = {{"fake_delay": 0, "fake_delay_jitter": 0}}
_fake["fake_responses"] = {{"os-release": "os debian 12"}}
hosts = [("@fake/a", {{"flagsets": {flagsets!r}, **_fake}})]
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory of its own, with what the role reads from there."""
    shutil.copytree(ROOT / "group_data" / "flagsets", tmp_path / "group_data" / "flagsets")
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    lock = tmp_path / "locks" / "sglang-0.5.12" / "cp311.txt"
    lock.parent.mkdir(parents=True)
    lines = [
        f"{name}=={version} --hash=sha256:{'0' * 64}  # {file}-py3-none-any.whl 1\n"
        for name, version, file in (
            ("sglang", "0.5.12", "sglang-0.5.12"),
            ("torch", "2.11.0", "torch-2.11.0"),
            ("cuda-toolkit", "13.0.2", "cuda_toolkit-13.0.2"),
        )
    ]
    lock.write_text("".join(lines))
    (tmp_path / "deploy.py").write_text(
        "from roles.flagsets import flagsets\nfrom roles.service import service\n\n"
        "flagsets()\nservice()\n"
    )
    return tmp_path


def dry(site: Path, flagsets: list[str]) -> subprocess.CompletedProcess[str]:
    (site / "inventory.py").write_text(INVENTORY.format(flagsets=flagsets))
    return subprocess.run(
        [sys.executable, "-m", "pyinfra", "--dry", "inventory.py", "deploy.py"],
        cwd=site,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(site)},
        capture_output=True,
        text=True,
    )


def test_a_dry_run_names_both_steps(site: Path) -> None:
    result = dry(site, ["sandbox-tiny"])
    assert result.returncode == 0, result.stderr
    assert "Place what the servers' units share" in result.stderr
    assert "Bring the servers to their first token" in result.stderr


def test_a_wrong_flag_set_ends_the_run_in_words_before_anything_is_touched(site: Path) -> None:
    result = dry(site, ["sandbox-tiny", "qwen"])
    assert result.returncode == 1
    assert "qwen.yaml: there is no such flag set; there are: glm-5-nvfp4" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_flag_set_that_cannot_work_ends_the_run_before_any_host_is_asked(site: Path) -> None:
    result = dry(site, ["sandbox-mistyped"])
    assert result.returncode == 1
    assert "cannot use these flag sets; correct them:" in result.stderr
    assert "refuse flag_unknown: SGLang 0.5.12 has no option --num-spec" in result.stderr
    assert "--speculative-num-draft-tokens" in result.stderr
    assert "Place what says why a server died" not in result.stderr
    assert "Traceback" not in result.stderr
