from typing import Any

import pytest

from stoker.serving.wishes import problems


def test_what_an_inventory_usually_says_is_right() -> None:
    data = {
        "pct_vmid": 200,
        "flagsets": ["qwen3.6-27b"],
        "service_user": "sglang",
        "stop_foreign": False,
        "secrets": {"*": {"API_KEY": "a $b"}, "sglang@0": {"HF_TOKEN": "c"}},
        "wheel_index": {"url": "https://wheels.example.net/simple"},
    }
    assert problems("gpu-a", data) == []
    assert problems("gpu-a", {"flagsets": None}) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("flagsets", "qwen3.6-27b", "write a list"),
        ("flagsets", 5, "write a list"),
        ("flagsets", [None], "None is no flag set's name"),
        ("flagsets", ["../x"], "'../x' is no flag set's name"),
        ("service_user", "root; rm -rf /", "is no user's name"),
        ("service_user", 0, "is no user's name"),
        ("stop_foreign", "no", "write True or False"),
        ("secrets", ["x"], "is no table"),
        ("secrets", {"nginx": {}}, "'nginx' is no unit of ours"),
        ("secrets", {"*": "API_KEY"}, "that of '*' is no table"),
        ("secrets", {"*": {"API KEY": "x"}}, "'API KEY' is no environment variable's name"),
        ("secrets", {"*": {"API_KEY": 5}}, "is no line of text"),
        ("wheel_index", "https://wheels.example.net", "is no table"),
        ("wheel_index", {"url": "a\nb"}, "not one line of text"),
    ],
)
def test_what_cannot_be_meant_is_told_with_host_and_key(key: str, value: Any, said: str) -> None:
    (problem,) = problems("gpu-a", {key: value})
    assert problem.startswith(f"cannot use `{key}` of gpu-a: ")
    assert said in problem


def test_a_wrong_secret_is_not_repeated() -> None:
    (problem,) = problems("gpu-a", {"secrets": {"*": {"API_KEY": "hush\nhush"}}})
    assert "hush" not in problem
