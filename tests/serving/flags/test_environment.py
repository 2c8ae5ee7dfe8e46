"""A variable that nobody reads is told, since SGLang and NCCL pass over it."""

import pytest

from tests.serving.flags.asked import only, reasons


def test_a_variable_that_the_version_no_longer_reads_is_told_with_those_that_did() -> None:
    reason = only(sglang="0.5.23", env={"SGLANG_ENABLE_SPEC_V2": "True"})
    assert (reason.name, reason.severity) == ("env_removed", "warn")
    assert reason.message.startswith("SGLang 0.5.23 no longer reads SGLANG_ENABLE_SPEC_V2")
    assert reason.hint == "remove it"
    assert reasons(env={"SGLANG_ENABLE_SPEC_V2": "True"}) == []


def test_a_variable_that_only_warns_is_told_with_what_to_use() -> None:
    reason = only(env={"SGLANG_SCHEDULER_DECREASE_PREFILL_IDLE": "1"})
    assert reason.name == "env_removed"
    assert reason.hint == "use --enable-prefill-delayer"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("SGLANG_GC_LOG", "SGLANG_LOG_GC"),
        ("SGL_USE_CPU_ENGINE", "SGLANG_USE_CPU_ENGINE"),
        ("SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK", "SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK"),
    ],
)
def test_a_variable_that_still_works_under_an_old_name(old: str, new: str) -> None:
    reason = only(env={old: "1"})
    assert (reason.name, reason.severity) == ("env_deprecated", "warn")
    assert reason.hint == f"use {new}"


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("SGLANG_USE_CPU_ENGIN", "SGLANG_USE_CPU_ENGINE"),
        ("NCCL_MIN_CHANNELS", "NCCL_MIN_NCHANNELS"),
        ("NCCL_P2P_DISABLED", "NCCL_P2P_DISABLE"),
    ],
)
def test_a_mistyped_variable_is_told_with_the_nearest(typed: str, right: str) -> None:
    reason = only(env={typed: "1"})
    assert (reason.name, reason.severity) == ("env_removed", "warn")
    assert reason.hint == f"use {right}"


@pytest.mark.parametrize("name", ["SGLANG_FOO_BAR", "NCCL_FOO"])
def test_a_variable_like_none_is_only_to_be_removed(name: str) -> None:
    assert only(env={name: "1"}).hint == "remove it"


def test_a_variable_of_versions_to_come_is_told() -> None:
    reason = only(sglang="0.5.6", env={"SGLANG_SPEC_NAN_DETECTION": "1"})
    assert reason.name == "env_removed"
    assert "does not read SGLANG_SPEC_NAN_DETECTION yet" in reason.message


@pytest.mark.parametrize(
    ("version", "gone"),
    [("0.5.12", False), ("0.5.13", False), ("0.5.14", True), ("0.5.20", True), ("0.5.23", True)],
)
def test_a_variable_that_only_a_warning_reads_is_gone(version: str, gone: bool) -> None:
    found = reasons(sglang=version, env={"SGLANG_ENABLE_SPEC_V2": "1"})
    assert [reason.name for reason in found] == (["env_removed"] if gone else [])


def test_what_is_read_is_not_spoken_of() -> None:
    env = {
        "NCCL_MIN_NCHANNELS": "16",
        "NCCL_MAX_NCHANNELS": "32",
        "NCCL_BUFFSIZE": "8388608",
        "NCCL_P2P_LEVEL": "PHB",
        "NCCL_DEBUG": "INFO",
        "TORCH_NCCL_BLOCKING_WAIT": "1",
        "SGLANG_USE_CPU_ENGINE": "1",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "0",
    }
    assert reasons(env=env) == []
