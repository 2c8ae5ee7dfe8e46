from dataclasses import replace
from pathlib import Path

from stoker.diagnosis import unit_file
from stoker.diagnosis.secrecy import Hiding
from stoker.serving.quoting import env_file_line
from tests.diagnosis.deaths import OOM

HARD = 'pa"ss`$\\word'


def test_a_secret_is_read_from_the_environment_file_as_systemd_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "sglang.env"
    path.write_text(
        "\n".join([env_file_line("STOKER_API_KEY", HARD), env_file_line("STOKER_DIGEST", "abc")])
    )
    assert unit_file.secrets([str(path)], "STOKER_API_KEY GONE") == [HARD]
    assert unit_file.secrets([str(tmp_path / "nowhere")], "STOKER_API_KEY") == []


def test_what_the_units_file_says_of_itself_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sglang.service"
    path.write_text("[Service]\nSGLang=no\n\n[X-Stoker]\nSGLang=0.5.12\nSecrets=\n")
    assert unit_file.told(str(path)) == {"SGLang": "0.5.12", "Secrets": ""}
    assert unit_file.told(str(tmp_path / "nowhere")) == {}


def test_no_text_of_a_verdict_shows_a_secret_in_any_form() -> None:
    hiding = Hiding([HARD])
    shown = hiding.verdict(
        replace(OOM, text=f"server_args={HARD!r}", cause=HARD, details=(f"key: {HARD}",))
    )
    assert "ss`" not in repr(shown)
    assert shown.action == OOM.action
