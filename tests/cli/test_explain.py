"""`stoker explain`: the long answer to a class, and the list of all."""

import pytest

from stoker import cli
from stoker.health.crash.classes import CrashClass, known
from stoker.health.crash.explaining import explained

OOM = CrashClass(
    name="gpu_oom",
    title="the GPU's memory is full",
    meaning="An allocation failed.",
    confirm="Read the line that names the tried size.",
    action="Act by phase.",
    avoid="Do not raise everything at once.",
    phases={"load": "Use more GPUs.", "prefill": "Lower --mem-fraction-static."},
    evidence=("sgl-project/sglang#39713", "measured"),
    see=("kv_pool_small",),
)


def test_a_class_is_told_with_all_that_its_row_says() -> None:
    text = "\n".join(explained(OOM))
    for part in (OOM.title, OOM.meaning, OOM.confirm, OOM.action, OOM.avoid, *OOM.evidence):
        assert part in text
    assert "prefill: Lower --mem-fraction-static." in text
    assert "See also: kv_pool_small" in text
    assert text.endswith("docs/runbook.md#gpu_oom says the same.")


def test_what_its_row_does_not_say_has_no_heading() -> None:
    bare = CrashClass("none", "healthy", "Fine.", "Look.", "Nothing.", "", {}, ("measured",), ())
    text = "\n".join(explained(bare))
    assert "not to do" not in text and "See also" not in text and "had come" not in text


def test_no_line_is_wider_than_asked_and_no_option_is_broken() -> None:
    long = CrashClass(**{**OOM.__dict__, "action": "Lower --mem-fraction-static a bit. " * 20})
    lines = explained(long, 60)
    assert max(map(len, lines)) <= 60
    assert "".join(lines).count("--mem-fraction-static") == 21


@pytest.mark.parametrize("name", known())
def test_every_class_can_be_explained(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: ")


def test_without_a_class_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(known())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("gpu_omm", "do you mean gpu_oom"),
        ("oom", "gpu_oom, cgroup_oom"),
        ("weather", "stoker explain lists all"),
    ],
)
def test_an_unknown_class_is_refused_with_the_nearest(
    asked: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", asked]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith(
        f"cannot explain {asked}: there is no such class; "
    )
    assert said in told.err


def test_a_name_may_be_typed_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "GPU-OOM"]) == 0
