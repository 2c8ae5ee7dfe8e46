"""Whatever a word holds, the program gets exactly that."""

import itertools
import os
import subprocess

import pytest

from stoker.pct import errors
from stoker.pct.client import Node
from stoker.pct.words import shell_text

HOSTILE = [
    "", " ", "  a  b  ", "'", '"', "''", '"\'"', "\\", "\\\\", "\\'", "\n", "a\nb", "\n\n",
    "\r\n", "\t", "$", "$HOME", "${HOME}", "$(id)", "`id`", "$'x'", "!", "!!", "*", "?", "[a]",
    "~", "~root", "#", "# x", ";", "; exit 3", "&", "&&", "||", "|", ">", "> /dev/null", "<",
    "<<E", ">&3", "2>&1", "(", ")", "{", "}", "{a,b}", "-", "--", "-n", "-e", "-rf", "=", "a=b",
    "if", "then", "done", "%", "%s", "%n", "\\n", "\\0", "\\c", "\x01", "\x1b[31m", "\x7f", "é",
    "ß", "日本語", "🔥", "e\u0301", "\u202e", "\u2028", "\ufeff", "\ud7ff", "eval", "exec",
    "$$", "$?", "$@", "$*", "$#", "$0", "'; echo pwned; '", "\"; echo pwned; \"", "$(echo 'x')",
    "`echo \"x\"`", "a'b\"c$d`e\\f", "\\\n", "done 0\n", "ready 1", "x" * 5000, "'" * 300,
    "\n" * 300, "日" * 1000,
]  # fmt: skip
BYTES = [bytes([n]).decode("utf-8", "surrogateescape") for n in range(1, 256)]
PAIRS = ["".join(pair) for pair in itertools.product("'\"\\$`\n! ", repeat=3)]


@pytest.mark.parametrize("words", [HOSTILE, BYTES, PAIRS], ids=["hostile", "bytes", "pairs"])
def test_every_word_arrives_as_it_was(node: Node, words: list[str]) -> None:
    got = node.run(["/usr/bin/printf", "%s\\0", *words]).stdout
    assert got.split(b"\0")[:-1] == [os.fsencode(word) for word in words]


def test_a_text_is_what_sh_would_make_of_it(node: Node) -> None:
    result = node.run("x='a  b'; echo \"$x\" | tr a-z A-Z; echo $(( 6 * 7 )) >&2")
    assert (result.code, result.stdout, result.stderr) == (0, b"A  B\n", b"42\n")


@pytest.mark.parametrize(
    "text",
    [
        "x=1; f() { return 3; }; f; echo $? $x",
        "exit 7",
        "false",
        "no-such-program; echo $?",
        "if then (",
        "set -eu; false; echo no",
        "set -u; echo $no_such; echo no",
        "cat <<'E'\n$x `y` \\z\nE",
        "echo a # b",
        "trap 'echo bye' EXIT; exit 4",
        "wait; jobs; sleep 0.01 & wait $!; echo $?",
        "cd /; pwd; export A=b; env | grep ^A=",
        "exec sh -c 'exit 9'",
        "kill -TERM $$; echo no",
        "sh -c 'kill -9 $PPID'; echo no",
        'echo ${0##*/} ${#} "$@"',
        "read x; echo $?",
        ". /no/such/file; echo no",
        "echo é | tr é e; printf '\\101\\n'",
        "return 5",
        "export 1=2; echo no",
        "ulimit -f 0; echo $?",
    ],
)
def test_a_text_ends_as_under_sh(node: Node, text: str) -> None:
    alone = subprocess.run(["/bin/sh", "-c", text], stdin=subprocess.DEVNULL, capture_output=True)
    code = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
    result = node.run(text)
    assert (result.code, result.stdout) == (code, alone.stdout)
    assert bool(result.stderr) == bool(alone.stderr)


def test_a_word_may_be_a_hundred_thousand_bytes(node: Node) -> None:
    word = "é'$" * 25_000
    assert node.run(["/usr/bin/printf", "%s", word]).stdout == word.encode()


@pytest.mark.parametrize("command", ["a\0b", ["echo", "a\0b"]])
def test_a_nul_is_refused_in_one_sentence(command: str | list[str]) -> None:
    with pytest.raises(errors.Unsendable, match=r"^cannot send .* NUL .* at position 1, .*$"):
        shell_text(command)


def test_no_words_are_refused() -> None:
    with pytest.raises(errors.Unsendable, match="it has no words"):
        shell_text([])
