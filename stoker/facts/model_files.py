"""What lies in the directories of models and drafts, as the servers' user would find it."""

import json

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving.rendering import INSIDE
from stoker.serving.weights.directory import Directory, read

_LIMIT_S = "90"
"""Of all directories together: a file system that hangs must not hang the run."""


class ModelDirectories(FactBase[dict[str, Directory]]):
    """Path -> `Directory`. A path that is not named could not be looked at in time.

    + python: the interpreter that looks; a container may have none by the name python3
    + user: who must be able to read the files; without one nobody is asked

    Source: file names, sizes, config.json, the tokenizer's files, the index, and the headers of
    the safetensors files; no weight is read.
    """

    @staticmethod
    def default() -> dict[str, Directory]:
        return {}

    def command(self, paths: tuple[str, ...], python: str, user: str = "") -> StringCommand:
        script = (INSIDE / "model_files.py").read_text(encoding="utf-8")
        asked = json.dumps({"paths": paths, "user": user})
        words = ("timeout", _LIMIT_S, QuoteString(python), "-I", "-c")
        return StringCommand(*words, QuoteString(script), QuoteString(asked), "|| true")

    def process(self, output: list[str]) -> dict[str, Directory]:
        told = (json.loads(line) for line in output if line.startswith("{"))
        return {one["path"]: read(one) for one in told}
