"""The file that names the clusters: every problem of it at once, and nothing of a secret."""

import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from stoker.proxmox.access import Access
from stoker.proxmox.sites import SSH_KEY, Site, Sites, load
from stoker.refused import Refused

ONE = "clusters: {lab: {hosts: [h], token: op@pve!tok, secret_env: LAB_SECRET}}"
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "inventory" / "proxmox.yaml.example"


def read(directory: Path, text: str) -> Sites:
    path = directory / "proxmox.yaml"
    path.write_text(text)
    return load(path)


def refused(directory: Path, text: str) -> str:
    with pytest.raises(Refused) as caught:
        read(directory, text)
    return str(caught.value)


def test_the_example_is_sound() -> None:
    first, second = load(EXAMPLE).clusters["lab"].accesses
    assert (first.host, second.host) == ("192.0.2.10", "192.0.2.11")
    assert first.backend == "token" and first.token == "stoker-read@pve!inventory"
    assert Path(first.secret_file) == Path("~/.config/stoker/proxmox.secret").expanduser()


def test_the_keys_that_the_example_mentions_are_sound(tmp_path: Path) -> None:
    said = [
        line.replace("# ", "", 1) if re.match(r" *# [a-z]+_?[a-z]*: ", line) else line
        for line in EXAMPLE.read_text().splitlines()
    ]
    asked = read(tmp_path, "\n".join(said))
    assert asked.tag == "stoker" and asked.ssh["ssh_user"] == "root"
    assert asked.clusters["lab"].addresses == {"pve2": "198.51.100.2"}
    assert asked.clusters["lab"].accesses[0].ca_file == str(tmp_path / "lab.pem")


def test_the_page_says_every_key(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "inventory.md").read_text()
    [block] = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    asked = read(tmp_path, block)
    data = yaml.safe_load(block)
    assert set(data) == set(Sites.model_fields)
    # The host is one of `hosts`, and the rest is of a ticket.
    of_access = set(Access.model_fields) - {"backend", "host", "user", "secret_env"}
    assert set(data["clusters"]["lab"]) == set(Site.model_fields) | of_access
    default = Sites.model_validate({"clusters": {"lab": {"hosts": ["h"]}}})
    assert (asked.tag, asked.stopped) == (default.tag, default.stopped)
    assert asked.clusters["lab"].required == default.clusters["lab"].required
    assert all(key in text for key in get_args(SSH_KEY))


def test_what_is_said_once_holds_for_each_cluster_that_says_nothing_else(tmp_path: Path) -> None:
    asked = read(
        tmp_path,
        """
        token: op@pve!tok
        secret_env: A_SECRET
        clusters:
          one: {hosts: [192.0.2.1]}
          two: {hosts: [192.0.2.2], token: two@pve!tok}
        """,
    )
    assert [site.accesses[0].token for site in asked.clusters.values()] == [
        "op@pve!tok",
        "two@pve!tok",
    ]


def test_a_file_of_the_files_own_directory_is_found_from_anywhere(tmp_path: Path) -> None:
    asked = read(
        tmp_path,
        "clusters: {a: {hosts: [h], token: op@pve!tok, secret_file: s, ca_file: /etc/ca.pem}}\n"
        "ssh: {ssh_key: key}",
    )
    access = asked.clusters["a"].accesses[0]
    assert access.secret_file == str(tmp_path / "s") and access.ca_file == "/etc/ca.pem"
    assert asked.ssh == {"ssh_key": str(tmp_path / "key")}


def test_no_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(
        Refused, match=r"^cannot read .*/none: No such file or directory; copy inventory/proxmox"
    ):
        load(tmp_path / "none")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "clusters: {}",
        "clusters: {lab: 1}",
        "clusters: [lab]",
        "a: b: c: S3CRET",
        "clusters: {lab: {hosts: []}}",
        "\x00",
        "clusters: {A b: {hosts: [x]}}",
    ],
)
def test_what_is_no_such_file_is_refused_without_its_words(tmp_path: Path, text: str) -> None:
    said = refused(tmp_path, text)
    assert said.startswith("cannot ") and str(tmp_path) in said and "S3CRET" not in said


def test_every_problem_is_told_at_once_and_no_secret(tmp_path: Path) -> None:
    said = refused(
        tmp_path,
        yaml.safe_dump(
            {
                "clusters": {
                    "one": {"hosts": ["h"], "token": "op@pve!tok", "secret": "S3CRET"},
                    "two": {"hosts": ["h"], "token": "op@pve!tok=S3CRET", "secret_env": "X"},
                    "three": {"hosts": ["h"]},
                }
            }
        ),
    )
    assert "S3CRET" not in said
    for part in ("clusters.one: ", "secret_env", "clusters.two: ", "token", "clusters.three: "):
        assert part in said


def test_a_password_for_ssh_has_no_place_here(tmp_path: Path) -> None:
    said = refused(tmp_path, f"{ONE}\nssh: {{ssh_password: S3CRET}}")
    assert "ssh.ssh_password" in said and "S3CRET" not in said


def test_an_address_for_a_host_with_a_scheme_is_refused(tmp_path: Path) -> None:
    assert "hosts" in refused(
        tmp_path, "clusters: {a: {hosts: ['https://h:8006'], token: op@pve!tok, secret_env: S}}"
    )
