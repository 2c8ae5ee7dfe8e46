"""A value that an option does not take is told with what it takes."""

import pytest

from tests.serving.flags.asked import only, reasons


@pytest.mark.parametrize(
    ("words", "version", "part", "hint"),
    [
        (
            ("--kv-cache-dtype", "fp8"),
            "0.5.12",
            "auto, fp8_e5m2, fp8_e4m3",
            "use fp8_e5m2 or fp8_e4m3",
        ),
        (("--attention-backend", "flashinfr"), "0.5.23", "is no choice of", "use flashinfer"),
        (("--dtype", "fp16"), "0.5.12", "is no choice of", "use float16"),
        (("--quantization", "nvfp4"), "0.5.12", "is no choice of", "use modelopt_fp4"),
        (("--attention-backend", "fa2"), "0.5.12", "is no choice of", "use one that it takes"),
        (
            ("--mamba-ssm-dtype", "float16"),
            "0.5.6",
            "but of 0.5.9 and later",
            "use one that it takes, or",
        ),
        (("--port", "30000:00"), "0.5.12", "takes a whole number", "write a whole number"),
        (("--mem-fraction-static", "nan"), "0.5.12", "takes a number", "write a number"),
        (("--mem-fraction-static", "88%"), "0.5.12", "takes a number", "write a number"),
        (("--tp-size", "2.0"), "0.5.12", "takes a whole number", "write a whole number"),
        (("--page-size",), "0.5.9", "stands without its value", "write a whole number behind"),
        (("--reasoning-parser",), "0.5.12", "without its value", "write one of auto"),
        (("--enable-metrics=true",), "0.5.12", "gives a value to a switch", "write --enable"),
        (("--help",), "0.5.12", "print its options and end", "remove it"),
        (("--context-length", "8x"), "0.5.12", "one with k, M, G", "write a whole number"),
        (("--context-length", "8k"), "0.5.9", "takes a whole number", "write a whole number"),
    ],
)
def test_a_wrong_value(words: tuple[str, ...], version: str, part: str, hint: str) -> None:
    reason = only(*words, sglang=version)
    assert (reason.name, reason.severity) == ("flag_bad_value", "refuse")
    assert part in reason.message
    assert reason.hint.startswith(hint)


def test_a_right_value_is_not_spoken_of() -> None:
    assert reasons("--context-length", "8Ki", "--mem-fraction-static", "0.88", "--port", "1") == []


def test_a_secret_is_not_repeated() -> None:
    reason = only("--ssl-keyfile-password", "hunter2", "hunter3")
    assert "hunter2" not in reason.message
