import re

import pytest

from stoker.health.crash import rows, rule


def test_a_rows_expression_is_compiled_when_it_is_first_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []
    compiled = re.compile

    def compile_(text: str) -> re.Pattern[str]:
        tried.append(text)
        return compiled(text)

    pattern = rule.Pattern("(?P<a>x+)y")
    monkeypatch.setattr(rule.re, "compile", compile_)
    assert rule.made(next(iter(rows.of("crash_causes")))) and tried == []
    assert pattern.match("zxxy") is None
    assert (pattern.match("xxy") or {})["a"] == "xx" and tried == ["(?P<a>x+)y"]
    assert pattern.search("zxxy")
