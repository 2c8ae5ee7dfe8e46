from pathlib import Path, PurePosixPath
from textwrap import dedent

import pytest

from stoker.refused import Refused
from stoker.serving.loading import load
from stoker.serving.placement import units_of
from stoker.serving.selection import renamed_drafts

SHIPPED = Path(__file__).parents[2] / "group_data" / "flagsets"
GOOD = """\
name: tiny
sglang: 0.5.12
model:
  path: /models/tiny
placement:
  layout: cpu
port: 30000
flags:
  device: cpu
  trust-remote-code: true
status:
  state: reported
  by: us
  machine: here
  note: none
"""


def refusal(tmp_path: Path, text: str) -> str:
    (tmp_path / "tiny.yaml").write_text(dedent(text))
    with pytest.raises(Refused) as refused:
        load(tmp_path, ["tiny"])
    return str(refused.value)


def check_changed(tmp_path: Path, old: str, new: str, problem: str) -> None:
    """The good flag set with `old` made `new` has this problem; it loads where that is empty."""
    text = GOOD.replace(old, new)
    if problem:
        assert problem in refusal(tmp_path, text)
    else:
        (tmp_path / "tiny.yaml").write_text(text)
        load(tmp_path, ["tiny"])


def test_a_good_flag_set_loads(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(GOOD)
    (flagset,) = load(tmp_path, ["tiny"])
    assert flagset.flags == {"device": "cpu", "trust-remote-code": True}
    assert flagset.host == "127.0.0.1"
    assert flagset.served_name == "/models/tiny"


def test_every_problem_is_told_at_once_with_file_and_key(tmp_path: Path) -> None:
    text = refusal(
        tmp_path,
        """\
        name: other
        sglang: 0.5
        modell: {}
        placement: {layout: one-per-gpu, gpus: [0, 0]}
        port: "30000"
        flags: {tp: 8, port: 1, max_running_requests: 4, disable-radix-cache: false, x: [],
                ssl-keyfile-password: abc}
        env: {CUDA_VISIBLE_DEVICES: "0", HF_TOKEN: abc, AWS_SECRET_ACCESS_KEY: abc, A: true}
        status: {state: verified, by: us, machine: here, note: none}
        """,
    )
    file = tmp_path / "tiny.yaml"
    for problem in (
        "name: is 'other', the file says 'tiny'; make them one",
        "sglang: Input should be a valid string",
        "modell: unknown key; meant model?",
        "model: is missing",
        "placement.gpus: names a GPU twice",
        "port: Input should be a valid integer",
        "flags.tp: is an abbreviation; write tp-size",
        "flags.port: is not set here; say it in port",
        "flags.max_running_requests: is no long option's name",
        "flags.disable-radix-cache: false is not a value; leave the flag out",
        "flags.x: a list holds one or more plain values",
        "env.CUDA_VISIBLE_DEVICES: is not set here; it comes from placement.gpus",
        "env.HF_TOKEN: is a secret; say it in the host's secrets",
        "env.AWS_SECRET_ACCESS_KEY: is a secret; say it in the host's secrets",
        "flags.ssl-keyfile-password: is a secret, and every `ps` shows flags; leave it out",
        "env.A: is not text; quote it",
        "status.state: Input should be 'reported'",
    ):
        assert f"{file}: {problem}" in text


def test_a_flag_that_is_only_the_beginning_of_one_is_refused_with_the_whole(tmp_path: Path) -> None:
    text = refusal(tmp_path, GOOD.replace("  device: cpu\n", "  mem-fraction: 0.2\n"))
    assert "flags.mem-fraction: is an abbreviation; write mem-fraction-static" in text


def test_a_duplicate_key_is_refused_with_both_lines(tmp_path: Path) -> None:
    text = refusal(tmp_path, GOOD.replace("  device: cpu\n", "  device: cpu\n  device: cuda\n"))
    assert "device: is there twice, lines 9 and 10" in text


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: tiny", "x: &x [1]\ny: [*x, *x]\nname: tiny", "an alias stands for another value"),
        ("port: 30000", f"port: {'9' * 5000}", "Exceeds the limit"),
        ("note: none", "note: none\n  date: 2026-13-01", "month must be in 1..12"),
        ("device: cpu", "device: " + "[" * 3000 + "]" * 3000, "is nested too deeply"),
        ("device: cpu", 'device: "a\\nUser=root"', "flags.device: holds a control character"),
        ("path: /models/tiny", 'path: "/m\\nx"', "model.path: holds a control character"),
        ("device: cpu", "api-ke: abc", "flags.api-ke: is an abbreviation of api-key"),
        ("device: cpu", "2026-01-01: x\n  device: cpu", ""),
        ("layout: cpu", "layout: one-per-gpu\n  gpus: [40000]", "less than or equal to 999"),
    ],
)
def test_hostile_text_ends_in_a_sentence(tmp_path: Path, old: str, new: str, problem: str) -> None:
    check_changed(tmp_path, old, new, problem)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (GOOD.encode() + b"description: \xe9\n", "is not UTF-8: byte 2"),
        (GOOD.encode() + b"\0", "is not YAML: unacceptable character #x0000"),
    ],
)
def test_bytes_that_are_no_text_end_in_a_sentence(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    (tmp_path / "tiny.yaml").write_bytes(data)
    with pytest.raises(Refused, match=problem):
        load(tmp_path, ["tiny"])


@pytest.mark.parametrize("size", ['"2"', "2.0", "0", "true"])
def test_a_number_of_stages_is_a_whole_number(tmp_path: Path, size: str) -> None:
    text = GOOD.replace("layout: cpu", "layout: tensor-parallel\n  gpus: [0, 1]")
    assert "is no number of stages" in refusal(
        tmp_path, text.replace("device: cpu", f"pp-size: {size}")
    )


def test_a_missing_flag_set_names_those_that_are_there() -> None:
    with pytest.raises(Refused, match=r"there is no such flag set; there are: .*kimi-k2\.5"):
        load(SHIPPED, ["kimi"])


def test_problems_of_several_files_come_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("[]")
    (tmp_path / "b.yaml").write_text("a: [")
    with pytest.raises(Refused) as refused:
        load(tmp_path, ["a", "b"])
    assert "a.yaml: holds no keys" in str(refused.value)
    assert "b.yaml: is not YAML" in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("layout: cpu", "layout: cpu\n  gpus: [0]", "placement.gpus: a cpu layout has no GPUs"),
        ("layout: cpu", "layout: tensor-parallel", "tensor-parallel needs the GPUs' indices"),
        (
            "layout: cpu",
            "layout: tensor-parallel\n  gpus: [0, 1]\nenv: {}",
            "",
        ),
        (
            "device: cpu",
            "tp-size: 4",
            "",
        ),
        ("path: /models/tiny", "path: models/tiny", "'models/tiny' is not an absolute path"),
        ("path: /models/tiny", "path: /dev/shm/tiny", "say where the model is on disk"),
        ("/models/tiny", "/models/tiny\n  staged_from: /d", "only a model in /dev/shm is staged"),
        ("/models/tiny", "/dev/shm//\n  staged_from: /d", "model.path: is no directory of a"),
        ("device: cpu", "pp-size: '2'", "flags.pp-size: '2' is no number of stages"),
        ("note: none", "note: \x01", "is not YAML"),
        ("reported", "measured", "status.state: is what a run writes, as evidence beside"),
    ],
)
def test_contradictions_are_found(tmp_path: Path, old: str, new: str, problem: str) -> None:
    check_changed(tmp_path, old, new, problem)


def test_ranks_that_do_not_fill_the_gpus_are_refused(tmp_path: Path) -> None:
    text = GOOD.replace("layout: cpu", "layout: tensor-parallel\n  gpus: [0, 1]")
    assert "4 ranks x 1 stages do not fill 2 GPU(s) a server" in refusal(
        tmp_path, text.replace("device: cpu", "tp-size: 4")
    )


def test_the_documented_example_loads_and_says_everything_a_flag_set_may_say(
    tmp_path: Path,
) -> None:
    text = (SHIPPED.parents[1] / "docs" / "flagset.yaml").read_text()
    (tmp_path / "example.yaml").write_text(text)
    (flagset,) = load(tmp_path, ["example"])
    assert flagset.model_fields_set == set(type(flagset).model_fields)


def test_stages_alone_leave_the_rest_to_the_ranks(tmp_path: Path) -> None:
    text = GOOD.replace("layout: cpu", "layout: tensor-parallel\n  gpus: [0, 1, 2, 3]")
    (tmp_path / "tiny.yaml").write_text(text.replace("device: cpu", "pp-size: 2"))
    (flagset,) = load(tmp_path, ["tiny"])
    (unit,) = units_of(flagset, PurePosixPath("/venv"), PurePosixPath("/cuda"))
    assert " ".join(unit.argv).endswith("--pp-size 2 --tp-size 2 --trust-remote-code")


def test_the_shipped_flag_sets_load_and_say_truthfully_that_they_are_reported() -> None:
    names = sorted(path.stem for path in SHIPPED.glob("*.yaml"))
    ours = [name for name in names if name.startswith("sandbox-")]
    assert ours == ["sandbox-dies", "sandbox-mistyped", "sandbox-tiny"]
    theirs = [name for name in names if name not in ours]
    assert theirs == ["glm-5-nvfp4", "kimi-k2.5", "kimi-k2.5-eagle3", "qwen3.6-27b"]
    flagsets = load(SHIPPED, names)
    told = {f.name: f.status for f in flagsets if f.status}
    # Of the two that are to fail nobody says that they work.
    assert list(told) == [*theirs, "sandbox-tiny"]
    assert {status.state for status in told.values()} == {"reported"}
    assert all("not here" in told[name].note for name in theirs)
    assert [f.name for f in flagsets if f.host == "0.0.0.0"] == ["qwen3.6-27b"]


@pytest.mark.parametrize(
    ("waivers", "problem"),
    [
        ("{some-row: seen to work}", ""),
        ("{some-row: ' '}", "waivers.some-row: has no reason"),
        ("{some-row: }", "waivers.some-row: "),
        ("{'Some row': seen to work}", "waivers.Some row: "),
        ("[some-row]", "waivers: "),
    ],
)
def test_a_waiver_names_a_row_and_a_reason(tmp_path: Path, waivers: str, problem: str) -> None:
    check_changed(tmp_path, "port: 30000", f"port: 30000\nwaivers: {waivers}", problem)


@pytest.mark.parametrize(
    ("draft", "flag", "problem"),
    [
        ("{renamed_from: /d/trained}", "/d/renamed", ""),
        ("{renamed_from: trained}", "/d/renamed", "draft.renamed_from: 'trained' is not an abs"),
        ("{renamed: /d/trained}", "/d/renamed", "draft.renamed: unknown key; meant renamed_from?"),
        ("{renamed_from: /d/trained}", "hub/name", "needs flags.speculative-draft-model-path"),
        ("{renamed_from: /d/x}", "/d/x", "draft.renamed_from: is where the copy goes"),
        ("{renamed_from: /d/x/}", "/d/x/y", "draft.renamed_from: is where the copy goes"),
        ("{renamed_from: /d/x}", "/dev/shm/x", "/dev/shm is empty after a reboot"),
    ],
)
def test_a_draft_is_renamed_into_a_directory_of_its_own(
    tmp_path: Path, draft: str, flag: str, problem: str
) -> None:
    given = f"draft: {draft}\nflags:\n  speculative-draft-model-path: {flag}"
    check_changed(tmp_path, "flags:", given, problem)


def test_the_drafts_to_rename_are_named_once(tmp_path: Path) -> None:
    folder = tmp_path / "group_data" / "flagsets"
    folder.mkdir(parents=True)
    given = "draft: {renamed_from: /d/x}\nflags:\n  speculative-draft-model-path: /d/y"
    for name in ("one", "two"):
        text = GOOD.replace("name: tiny", f"name: {name}").replace("flags:", given)
        (folder / f"{name}.yaml").write_text(text)
    (folder / "tiny.yaml").write_text(GOOD)
    copies = renamed_drafts(tmp_path, ["one", "two", "tiny"])
    assert copies == [("/d/x", "/d/y")]
