"""How the stand-in reads its command line: as Perl's Getopt::Long does under PVE::CLIHandler."""

import pytest

from stoker.sandbox.node import getopt, locale_warning, property_string, schema, transfer
from stoker.sandbox.node.died import BadRequest, Died

KNOWN = {
    "keep-env": True,
    "timeout": False,
    "skiplock": True,
    "snapshot": False,
    "description": False,
}


@pytest.mark.parametrize(
    ("words", "options", "rest"),
    [
        (["103", "--", "ls", "-la"], {}, ["103", "ls", "-la"]),
        (["103", "ls", "/root"], {}, ["103", "ls", "/root"]),
        (["--keep-env", "0", "103"], {"keep-env": ["0"]}, ["103"]),
        (["103", "-keep-env=0"], {"keep-env": ["0"]}, ["103"]),
        (["--skiplock", "103"], {"skiplock": ["103"]}, []),
        (["103", "--skiplock"], {"skiplock": ["1"]}, ["103"]),
        (["103", "--skiplock", "--timeout", "5"], {"skiplock": ["1"], "timeout": ["5"]}, ["103"]),
        (["--timeout=-1", "103"], {"timeout": ["-1"]}, ["103"]),
        (["--time", "3"], {"timeout": ["3"]}, []),
        (["103", "-"], {}, ["103", "-"]),
        (["--description", "a=b\nc"], {"description": ["a=b\nc"]}, []),
    ],
)
def test_options_stand_anywhere_before_the_double_dash(
    words: list[str], options: dict[str, list[str]], rest: list[str]
) -> None:
    assert getopt.parse(words, KNOWN) == (options, rest)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["103", "ls", "-la"], "Unknown option: la\n"),
        (["--bad", "--worse"], "Unknown option: bad\nUnknown option: worse\n"),
        (["--timeout"], "Option timeout requires an argument\n"),
        (["--s", "1"], "Option s is ambiguous (skiplock, snapshot)\n"),
    ],
)
def test_an_option_it_does_not_know_is_named_on_stderr(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadRequest, match="400 unable to parse option"):
        getopt.parse(words, KNOWN)
    assert capsys.readouterr().err == complaint


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("dev0", "/dev/nvidia0,mode=0660,uid=0,gid=44,deny-write=1", None),
        ("dev255", "path=/dev/fuse", None),
        ("dev0", "fuse", "dev0.path: invalid format - fuse is not a valid device path"),
        ("dev0", "/dev/a,mode=999", "dev0.mode: value does not match the regex pattern"),
        ("dev0", "mode=0660", "dev0.path: property is missing and it is not optional"),
        ("mp0", "/srv", "mp0.mp: property is missing and it is not optional"),
        ("memory", "8", "value must have a minimum value of 16"),
        ("hostname", "under_score", "invalid format - value does not look like a valid DNS name"),
        ("lock", "mine", "value 'mine' does not have a value in the enumeration"),
        ("startup", "order=2,up=10,down=5", None),
        ("features", "nesting=1,keyctl=1", None),
    ],
)
def test_values_are_checked_as_the_schema_has_it(
    key: str, value: str, complaint: str | None
) -> None:
    found = schema.complaint(key, value)
    assert found is None if complaint is None else complaint in (found or "")


def test_numbered_keys_end_where_proxmox_ends_them() -> None:
    assert schema.find("dev255") and schema.find("mp0") and schema.find("net31")
    assert not schema.find("dev256") and not schema.find("dev01") and not schema.find("lxc.idmap")


def test_a_property_string_puts_its_bare_value_first() -> None:
    fields = property_string.parse("mode=0660,/dev/a", property_string.DEVICE)
    assert property_string.render(fields, property_string.DEVICE) == "/dev/a,mode=0660"


@pytest.mark.parametrize(("text", "mode"), [("600", 0o600), ("0755", 0o755), ("0x1ff", 0o777)])
def test_push_reads_octal_and_hexadecimal_modes(text: str, mode: int) -> None:
    assert transfer.parse_mode(text) == mode


def test_push_refuses_a_symbolic_mode_in_the_real_words() -> None:
    with pytest.raises(Died, match=r"^invalid mode: '0u\+x'$"):
        transfer.parse_mode("u+x")


def test_a_locale_the_node_lacks_gets_perls_complaint() -> None:
    assert locale_warning.text({"LANG": "de_DE.UTF-8", "LC_TIME": "C"}).splitlines() == [
        "perl: warning: Setting locale failed.",
        "perl: warning: Please check that your locale settings:",
        "\tLANGUAGE = (unset),",
        "\tLC_ALL = (unset),",
        '\tLC_TIME = "C",',
        '\tLANG = "de_DE.UTF-8"',
        "    are supported and installed on your system.",
        'perl: warning: Falling back to the standard locale ("C").',
    ]
