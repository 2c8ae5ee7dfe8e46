"""Models that are absent, damaged, or not what the flags say."""

from __future__ import annotations

import json

from tests.health.crash.provoke import models
from tests.health.crash.provoke.scenario import Scenario

_EAGLE3 = {
    "--speculative-algorithm": "EAGLE3",
    "--speculative-draft-model-path": "/srv/models/draft",
    "--speculative-num-steps": "3",
    "--speculative-eagle-topk": "1",
    "--speculative-num-draft-tokens": "4",
}


def _shard_missing() -> None:
    """The second of three shards is not there."""
    (models.sharded("tiny") / "model-00002-of-00003.safetensors").unlink()


def _shard_truncated() -> None:
    """The second of three shards lacks its last 1000 bytes."""
    path = models.sharded("tiny") / "model-00002-of-00003.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def _weights_empty() -> None:
    """Model.safetensors has no bytes."""
    (models.whole("tiny") / "model.safetensors").write_bytes(b"")


def _weights_absent() -> None:
    """There is no model.safetensors."""
    (models.whole("tiny") / "model.safetensors").unlink()


def _weights_are_pointers() -> None:
    """Model.safetensors is a pointer of Git LFS."""
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1234\n"
    (models.whole("tiny") / "model.safetensors").write_text(text)


def _weights_of_another() -> None:
    """Config.json says twice the width of the weights."""
    models.edited(models.whole("tiny"), lambda config: config.update(hidden_size=128, head_dim=32))


def _config_absent() -> None:
    """There is no config.json."""
    (models.whole("tiny") / "config.json").unlink()


def _config_corrupt() -> None:
    """Config.json ends after 120 bytes."""
    path = models.whole("tiny") / "config.json"
    path.write_text(path.read_text()[:120])


def _tokenizer_absent() -> None:
    """There is no tokenizer.json and no tokenizer_config.json."""
    for file in models.whole("tiny").glob("tokenizer*"):
        file.unlink()


def _tokenizer_corrupt() -> None:
    """Tokenizer.json ends after 400 bytes."""
    path = models.whole("tiny") / "tokenizer.json"
    path.write_text(path.read_text()[:400])


def _no_thinking() -> None:
    """The tokenizer has no </think>."""
    path = models.whole("tiny")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (path / name).read_text()
        (path / name).write_text(text.replace("think>", "idea>"))


def _own_code() -> None:
    """Config.json names code of the model's own (auto_map)."""
    names = {"AutoConfig": "configuration_ember.EmberConfig"}
    path = models.whole("tiny")
    models.edited(path, lambda config: config.update(model_type="ember", auto_map=names))
    (path / "configuration_ember.py").write_text(
        "from transformers import LlamaConfig\n\n\nclass EmberConfig(LlamaConfig):\n"
        '    model_type = "ember"\n'
    )


def _unknown_type() -> None:
    """Config.json has a model_type that nobody knows."""
    models.edited(models.whole("tiny"), lambda config: config.update(model_type="ember2"))


def _unknown_architecture() -> None:
    """Config.json has an architecture that nobody knows."""
    kind = ["EmberForCausalLM"]
    models.edited(models.whole("tiny"), lambda config: config.update(architectures=kind))


def _draft(kind: str, **more: object) -> None:
    models.whole("tiny")
    path = models.whole("draft")
    models.edited(path, lambda config: config.update(architectures=[kind], **more))


def _draft_is_a_target() -> None:
    """The draft is a whole Llama like the target."""
    _draft("LlamaForCausalLM")


def _draft_of_other_keys() -> None:
    """The draft says it is EAGLE3, its tensors are a Llama's."""
    _draft("LlamaForCausalLMEagle3", num_hidden_layers=1, draft_vocab_size=261)


def _draft_of_other_width() -> None:
    """The draft is twice as wide."""
    _draft("LlamaForCausalLMEagle3", num_hidden_layers=1, hidden_size=128, head_dim=32)


def _draft_without_config() -> None:
    """The draft has no config.json."""
    models.whole("tiny")
    (models.whole("draft") / "config.json").unlink()


def _template_broken() -> None:
    """The chat template is not closed."""
    path = models.whole("tiny") / "tokenizer_config.json"
    config = json.loads(path.read_text())
    config["chat_template"] = "{% for message in messages %}{{ message.content "
    path.write_text(json.dumps(config))


_PARSER: dict[str, str | None] = {"--reasoning-parser": "qwen3"}
_ONLINE: dict[str, str | None] = {"HF_HUB_OFFLINE": None}

ALL = {
    "model_missing": Scenario({"--model-path": "/srv/models/absent"}),
    "hub_offline": Scenario({"--model-path": "Qwen/Qwen3-0.6B"}),
    "hub_unreachable": Scenario({"--model-path": "Qwen/Qwen3-0.6B"}, _ONLINE),
    "shard_missing": Scenario(prepare=_shard_missing),
    "shard_truncated": Scenario(prepare=_shard_truncated),
    "weights_empty": Scenario(prepare=_weights_empty),
    "weights_absent": Scenario(prepare=_weights_absent),
    "weights_are_pointers": Scenario(prepare=_weights_are_pointers),
    "weights_of_another": Scenario(prepare=_weights_of_another),
    "config_missing": Scenario(prepare=_config_absent),
    "config_corrupt": Scenario(prepare=_config_corrupt),
    "tokenizer_missing": Scenario(prepare=_tokenizer_absent),
    "tokenizer_corrupt": Scenario(prepare=_tokenizer_corrupt),
    "tokenizer_without_thinking": Scenario(_PARSER, prepare=_no_thinking),
    "remote_code_refused": Scenario(prepare=_own_code),
    "model_type_unknown": Scenario(prepare=_unknown_type),
    "architecture_unknown": Scenario(prepare=_unknown_architecture),
    "draft_is_a_target": Scenario(_EAGLE3, prepare=_draft_is_a_target),
    "draft_other_keys": Scenario(_EAGLE3, prepare=_draft_of_other_keys),
    "draft_other_width": Scenario(_EAGLE3, prepare=_draft_of_other_width),
    "draft_without_config": Scenario(_EAGLE3, prepare=_draft_without_config),
    "draft_missing": Scenario(_EAGLE3),
    "draft_not_given": Scenario({"--speculative-algorithm": "EAGLE3"}),
    "draft_companions": Scenario(
        {k: v for k, v in _EAGLE3.items() if "num" not in k}, prepare=_draft_is_a_target
    ),
    "template_broken": Scenario(prepare=_template_broken),
}
