"""What is said of what others wrote."""

from stoker.operations.following import say
from stoker.operations.once import warned
from stoker.operations.refusal import refused
from stoker.proxmox.refusals import one_line
from tests.operations.hosts import FakeHost


def test_no_word_of_others_moves_the_cursor() -> None:
    host = FakeHost({})
    say(host, "hostname: \x1b[2Ja")
    warned(host, "tags: \u202ea")
    refused("lock: \x1b]0;a\x07").execute(None, host, {})  # type: ignore[arg-type]
    assert host.said == ["hostname: ·[2Ja", "tags: ·a", "lock: ·]0;a·"]
    assert one_line("a \x1b[2J\n b") == "a ·[2J b"
