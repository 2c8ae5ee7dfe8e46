"""What is wrong with the files of a model and of its draft, told before anything is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from stoker.serving.checking.reason import Reason
from stoker.serving.weights import drafting
from stoker.serving.weights.files import Files
from stoker.serving.weights.wording import listed

if TYPE_CHECKING:
    from stoker.serving.checking.question import Question

_READS_SHARDS = ("auto", "safetensors", "fastsafetensors")
"""Values of --load-format that load the safetensors files there are."""


def check(question: Question) -> Iterator[Reason]:
    """Every reason that the model's and the draft's files give; what is unknown gives none."""
    parsed = question.parsed
    if question.files is not None:
        files = _named(question.files, parsed.get("model_path") or "the model's directory")
        yield from _directory(files, parsed.get("load_format", "auto"))
        yield from _tokenizer(files, question)
    if not parsed.get("speculative_algorithm"):
        return
    if (draft := question.draft) is not None:
        path = parsed.get("speculative_draft_model_path") or "the draft model's directory"
        draft = replace(draft, files=_named(draft.files, path))
        form = parsed.get("speculative_draft_load_format") or parsed.get("load_format", "auto")
        yield from _directory(draft.files, form)
    yield from drafting.check(question, draft)


def _named(files: Files, path: str) -> Files:
    return files if files.path else replace(files, path=str(path))


def _directory(files: Files, load_format: str) -> Iterator[Reason]:
    where = files.path
    if files.exists is False:
        message = f"{where} is not there"
        hint = "put the model there, or correct its path"
        yield Reason("model_missing", "refuse", message, hint)
    elif files.config is False and load_format in (*_READS_SHARDS, "dummy"):
        message = f"{where} has no config.json that can be read, so it is no model's directory"
        hint = "copy the whole model there, or correct its path"
        yield Reason("model_missing", "refuse", message, hint)
    elif load_format in _READS_SHARDS:
        yield from _incomplete(files)


def _incomplete(files: Files) -> Iterator[Reason]:
    wanted, there = files.index_shards or (), files.present
    missing = [name for name in wanted if there is not None and name not in there]
    cut = [sentence for sentence in files.broken if sentence.split(" ")[0] not in missing]
    said = []
    if missing:
        said.append(f"lacks {len(missing)} of its {len(wanted)} weight files: {listed(missing)}")
    if cut:
        more = f" (and {len(cut) - 3} more)" if len(cut) > 3 else ""
        said.append("; ".join(cut[:3]) + more)
    if not said:
        return
    if files.unfinished:
        said.append(f"{files.unfinished} file(s) of a download have not ended")
    glue = " " if missing else ": "
    hint = (
        "fetch these files again before anything is stopped; an SGLang that starts without them, "
        "as 0.5.12 does, answers garbage"
    )
    yield Reason("weights_incomplete", "refuse", f"{files.path}{glue}{'; '.join(said)}", hint)


def _tokenizer(files: Files, question: Question) -> Iterator[Reason]:
    parsed = question.parsed
    if not files.exists or not files.config or "tokenizer_path" in parsed.given:
        return
    if parsed.get("skip_tokenizer_init"):
        return
    if files.tokenizer is False:
        message = f"{files.path} has no tokenizer (no tokenizer.json, tokenizer.model or the like)"
        hint = "copy the model's tokenizer files there, or name their directory: --tokenizer-path"
        yield Reason("tokenizer_error", "refuse", message, hint)
    elif files.remote_tokenizer and not parsed.get("trust_remote_code"):
        message = (
            f"the tokenizer of {files.path} is Python code that lies beside it (auto_map in its "
            "tokenizer_config.json), and transformers runs that only if it is told to"
        )
        yield Reason("tokenizer_error", "warn", message, "add --trust-remote-code")
