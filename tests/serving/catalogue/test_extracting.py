"""What a wheel or a tree of SGLang says of its options, read without importing it."""

import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

from stoker.serving.catalogue.extracting.environment import variables
from stoker.serving.catalogue.extracting.extract import extracted, lines
from stoker.serving.catalogue.extracting.source import NoSglang, Tree

METADATA = "Metadata-Version: 2.4\nName: sglang\nVersion: 0.5.99\n"
CALLS = """
    import argparse
    import dataclasses
    from sglang.srt.choices import BACKENDS, detectors
    from sglang.srt.numbers import readable

    MORE = BACKENDS + ["own"]

    class Gone(argparse.Action):
        def __init__(self, option_strings, dest, nargs=0, **kwargs):
            pass

    class DeprecatedStoreTrueAction(Gone):
        def __init__(self, option_strings, dest, new_flag=None, nargs=0, **kwargs):
            pass

    @dataclasses.dataclass
    class ServerArgs:
        host: str = "127.0.0.1"
        buckets: list = dataclasses.field(default_factory=lambda: [1, 2])

        @staticmethod
        def add_cli_args(parser):
            found = detectors()
            parser.add_argument("--model-path", "--model", type=str, required=True)
            parser.add_argument("--host", type=str, default=ServerArgs.host)
            parser.add_argument("--backend", choices=MORE, default="own")
            parser.add_argument("--parser", choices=["auto"] + found)
            parser.add_argument("--buckets", type=int, nargs="+", default=ServerArgs.buckets)
            parser.add_argument("--quiet", action="store_true")
            parser.add_argument("--radix", action=argparse.BooleanOptionalAction)
            parser.add_argument("--size", type=readable, default=4 * 1024)
            parser.add_argument("--check", nargs="?", const="", default=None)
            parser.add_argument(
                "--stream", action=DeprecatedStoreTrueAction, dest="streaming", new_flag="--flow"
            )
            parser.add_argument("--old", action="store_true", help="[Deprecated] Use --new.")
            parser.add_argument("--live", help="Replaces the deprecated --old", default=run())
"""
CHOICES = """
    class Kind:
        ALL = ("c",)

    BACKENDS = ["a", "b", *Kind.ALL]
    _NAMES = {"x": object, "y": object}

    def detectors():
        return list(_NAMES)
"""


def tree(folder: Path, **files: str) -> Path:
    """A tree with these modules of `sglang.srt`."""
    (folder / "sglang-0.5.99.dist-info").mkdir(parents=True)
    (folder / "sglang-0.5.99.dist-info/METADATA").write_text(METADATA)
    for name, text in {"environ": "", **files}.items():
        path = folder / "sglang/srt" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def rows(path: Path) -> dict[str, dict[str, Any]]:
    return {row["names"][0]: row for row in extracted(path)["options"]}


@pytest.fixture
def called(tmp_path: Path) -> Path:
    return tree(tmp_path, server_args=CALLS, choices=CHOICES)


def test_options_written_as_calls_are_read(called: Path) -> None:
    found = rows(called)
    assert found["--model-path"]["names"] == ["--model-path", "--model"]
    assert found["--model-path"]["required"] is True
    assert found["--host"]["default"] == "127.0.0.1"
    assert found["--buckets"] == {
        "names": ["--buckets"],
        "dest": "buckets",
        "type": "int",
        "default": [1, 2],
        "kind": "list",
    }
    assert found["--size"]["default"] == 4096 and found["--size"]["type"] == "readable"
    assert found["--check"]["optional_value"] is True and found["--check"]["const"] == ""


def test_choices_are_followed_over_files_and_functions(called: Path) -> None:
    assert rows(called)["--backend"]["choices"] == ["a", "b", "c", "own"]
    assert rows(called)["--parser"]["choices"] == ["auto", "x", "y"]


def test_switches_take_no_word(called: Path) -> None:
    found = rows(called)
    assert found["--quiet"] == {"names": ["--quiet"], "dest": "quiet", "kind": "switch"}
    assert found["--radix"]["kind"] == "pair"
    assert found["--stream"]["kind"] == "switch" and found["--stream"]["dest"] == "streaming"


def test_the_end_of_an_option_is_read_from_its_action_or_its_help(called: Path) -> None:
    found = rows(called)
    assert found["--stream"]["successor"] == "--flow"
    assert found["--old"]["successor"] == "--new"
    assert "deprecated" not in found["--live"]


def test_what_only_runs_is_left_out(called: Path) -> None:
    assert "default" not in rows(called)["--live"]


FIELDS = """
    import argparse
    from typing import List, Literal, Optional
    from sglang.srt.arg_utils import A, Arg
    from sglang.srt.choices import Kind

    Mode = Literal["in", "out"]

    class Net:
        _NS_PATH = "net"
        model: A[str, Arg(help="The model.", aliases=["--weights"])]
        port: A[int, "Where it " "listens."] = 30000
        ratio: A[Optional[float], "A ratio."] = None
        loud: A[bool, "(Deprecated, use --volume) Loud."] = False
        mode: A[Mode, "Which way."] = "in"
        kind: A[str | None, Arg(help="One of", choices=Kind.ALL)] = None
        sizes: A[Optional[List[int]], "Sizes."] = None
        tp_size: A[int, Arg(help="Ranks.", cli_name="--tensor-parallel-size")] = 1
        both: A[bool, Arg(help="Both.", action=argparse.BooleanOptionalAction)] = True
        hidden: A[bool, Arg(no_cli=True)] = False
        plain: str = "none"
"""
COLLECTED = """
    from sglang.srt.arg_groups.fields.net import Net

    class ServerArgs:
        @staticmethod
        def add_cli_args(parser):
            parser.add_argument("--plain", default=_declared("plain"))
"""


def test_options_written_as_annotated_fields_are_read(tmp_path: Path) -> None:
    fields = {"arg_groups/fields/net": FIELDS}
    found = rows(tree(tmp_path, server_args=COLLECTED, choices=CHOICES, **fields))
    assert found["--model"]["required"] is True and found["--model"]["names"][1] == "--weights"
    assert found["--port"] == {"names": ["--port"], "dest": "port", "type": "int", "default": 30000}
    assert found["--ratio"]["type"] == "float"
    assert found["--loud"]["kind"] == "switch" and found["--loud"]["successor"] == "--volume"
    assert found["--mode"]["choices"] == ["in", "out"]
    assert found["--kind"]["choices"] == ["c"]
    assert (found["--sizes"]["kind"], found["--sizes"]["type"]) == ("list", "int")
    assert found["--tensor-parallel-size"]["dest"] == "tp_size"
    assert found["--both"]["kind"] == "pair"
    assert found["--plain"]["default"] == "none"
    assert "--hidden" not in found


def test_a_wheel_and_its_tree_give_the_same_catalogue(called: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "sglang-0.5.99-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for path in sorted(called.rglob("*")):
            if path.is_file() and path != wheel:
                file.write(path, path.relative_to(called).as_posix())
    assert lines(extracted(wheel)) == lines(extracted(called))
    assert extracted(wheel)["sglang"] == "0.5.99"


def test_a_folder_without_sglang_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(NoSglang):
        extracted(tmp_path)


ENVIRON = """
    class Envs:
        SGLANG_DECLARED = EnvBool(False)
        SGLANG_NEW = EnvBoolWithAlias(True, deprecated_name="SGLANG_OLD")

    _ENDED = {"SGLANG_GONE": _DeprecatedEnv(note="Please use '--gone' instead.")}

    def _print_deprecated_env(new_name, old_name):
        pass

    _print_deprecated_env("SGLANG_LOG_GC", "SGLANG_GC_LOG")
"""


def test_variables_are_those_that_the_source_reads(tmp_path: Path) -> None:
    reading = """
        # os.getenv("SGLANG_COMMENTED")
        x = os.getenv("SGLANG_READ")
        raise ValueError("set SGLANG_SPOKEN_OF")
    """
    read, ended = variables(Tree(tree(tmp_path, environ=ENVIRON, reading=reading)))
    assert read == {"SGLANG_DECLARED", "SGLANG_NEW", "SGLANG_LOG_GC", "SGLANG_READ"}
    assert ended == {
        "SGLANG_OLD": "SGLANG_NEW",
        "SGLANG_GONE": "--gone",
        "SGLANG_GC_LOG": "SGLANG_LOG_GC",
    }
