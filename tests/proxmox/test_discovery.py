"""An inventory by the API of a cluster, with a token that may only read."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stoker.proxmox import api, discovery, sites
from stoker.proxmox.cluster import asked
from stoker.proxmox.discovery import Groups
from stoker.proxmox.errors import ProxmoxError
from stoker.refused import Refused
from tests.proxmox.clusters import names, secret_in

ROOT = Path(__file__).parents[2]
TOKEN, SECRET = "stoker-read@pve!inventory", "0123-4567"


@pytest.fixture
def pve(fakepve: Any) -> Any:
    """A cluster of two nodes whose token is an auditor's: nothing else is granted to anybody."""
    fakepve.apitokens[TOKEN] = SECRET
    fakepve.grant("stoker-read@pve", "/", "VM.Audit", "Sys.Audit", "Pool.Audit", "Datastore.Audit")
    fakepve.add_ct(200, "gpu-a", node="pve1", status="running", config={"tags": "stoker"})
    fakepve.add_ct(
        201, "gpu-b", node="pve2", status="running", config={"tags": "stoker;stoker.kimi"}
    )
    fakepve.add_ct(202, "web", node="pve2", status="running", config={"tags": "web"})
    fakepve.add_vm(300, "win", node="pve2", status="running")
    return fakepve


@pytest.fixture
def file(pve: Any, fakepve_cafile: str, tmp_path: Path) -> Path:
    """A file that names that cluster."""
    return written(tmp_path, {"lab": {"hosts": [pve.host]}}, pve.port, fakepve_cafile)


def written(directory: Path, clusters: Any, port: int, ca_file: str, **more: Any) -> Path:
    path = directory / "proxmox.yaml"
    secret_in(directory, SECRET)
    all_ = {"token": TOKEN, "secret_file": "secret", "ca_file": ca_file, "port": port}
    path.write_text(yaml.safe_dump({**all_, "clusters": clusters, **more}, sort_keys=False))
    return path


def found(path: Path) -> tuple[Groups, list[str]]:
    return discovery.discovered(sites.load(path))


def test_a_read_only_token_and_two_requests_make_an_inventory(pve: Any, file: Path) -> None:
    groups, told = found(file)
    assert groups["pve"] == [
        ("@pct/pve1", {"ssh_hostname": "192.0.2.11"}),
        ("@pct/pve2", {"ssh_hostname": "192.0.2.12"}),
    ]
    assert groups["inference"] == [
        ("@pct/gpu-a", {"pct_host": "pve1", "pct_vmid": 200}),
        ("@pct/gpu-b", {"pct_host": "pve2", "pct_vmid": 201, "flagsets": ["kimi"]}),
    ]
    assert told == []
    assert [(method, path) for method, path, _ in pve.requests] == [
        ("GET", "/api2/json/cluster/status"),
        ("GET", "/api2/json/cluster/resources"),
    ]


def test_a_token_that_may_see_no_guest_is_told_so(pve: Any, file: Path) -> None:
    pve.acl = {"stoker-read@pve": [("/", {"Sys.Audit"})]}
    with pytest.raises(Refused) as caught:
        found(file)
    assert str(caught.value).splitlines() == [
        "cannot make an inventory: there is no container to take",
        "lab: stoker-read@pve!inventory sees no guest at all; give it the role PVEAuditor, as "
        "docs/inventory.md has it",
    ]


def test_a_token_for_one_pool_sees_the_containers_of_that_pool(pve: Any, file: Path) -> None:
    pve._pool_join("llm", 201)
    pve.acl = {"stoker-read@pve": [("/", {"Sys.Audit"}), ("/pool/llm", {"VM.Audit"})]}
    assert names(found(file)[0]["inference"]) == ["@pct/gpu-b"]


def test_a_cluster_without_the_tag_is_told_so(pve: Any, file: Path) -> None:
    for vmid in (200, 201):
        pve.ct(vmid).config["tags"] = "other"
    with pytest.raises(
        Refused,
        match=r"lab: no container that stoker-read@pve!inventory sees is tagged stoker; tag one",
    ):
        found(file)


def test_when_all_are_stopped_it_is_said_which(pve: Any, file: Path) -> None:
    for vmid in (200, 201):
        pve.ct(vmid).status = "stopped"
    with pytest.raises(Refused, match=r"200 'gpu-a', 201 'gpu-b'"):
        found(file)


def test_pools_and_tags_are_read(pve: Any, file: Path) -> None:
    pve._pool_join("prod/llm", 200)
    pve.ct(201).config["tags"] = "rack-1;stoker"
    groups, _ = found(file)
    assert names(groups["pool_prod_llm"]) == ["@pct/gpu-a"]
    assert names(groups["tag_rack_1"]) == ["@pct/gpu-b"]


def test_a_node_that_is_down_is_told_and_its_containers_are_left_out(pve: Any, file: Path) -> None:
    pve.set_node_offline("pve2")
    groups, told = found(file)
    assert names(groups["inference"]) == ["@pct/gpu-a"]
    assert told == ["lab: node pve2 is offline, so left out: 201 'gpu-b'"]


def test_a_template_and_another_ones_machine_are_no_hosts(pve: Any, file: Path) -> None:
    pve.add_ct(210, "base", status="stopped", template=True, config={"tags": "stoker"})
    groups, told = found(file)
    assert len(groups["inference"]) == 2 and told == []


def test_a_wrong_secret_is_one_sentence_without_it(pve: Any, file: Path) -> None:
    pve.apitokens[TOKEN] = "another"
    with pytest.raises(Refused) as caught:
        found(file)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value)


def test_a_token_that_may_not_read_the_nodes_is_one_sentence(pve: Any, file: Path) -> None:
    pve.fail("GET", "/cluster/status", 403, "Permission check failed (/, Sys.Audit)")
    with pytest.raises(Refused, match=r"Sys\.Audit"):
        found(file)


def test_an_address_for_a_node_that_is_not_there_is_refused(pve: Any, file: Path) -> None:
    text = yaml.safe_load(file.read_text())
    text["clusters"]["lab"]["addresses"] = {"pve9": "192.0.2.99"}
    file.write_text(yaml.safe_dump(text))
    with pytest.raises(
        Refused, match=r"^cannot use the address of pve9: lab has no .* there are pve1, pve2$"
    ):
        found(file)


def test_an_api_host_that_cannot_reach_the_cluster_is_one_sentence(pve: Any, file: Path) -> None:
    pve.fail("GET", "/cluster/resources", 595, "No route to host")
    with pytest.raises(Refused, match=r"^cannot .*595|No route"):
        found(file)


@pytest.mark.parametrize("answer", [None, {}, [None], [{"type": "lxc"}], "text", [[1]]])
def test_an_answer_that_is_not_proxmoxs_is_one_sentence(answer: Any) -> None:
    with pytest.raises(
        ProxmoxError, match=r"^cannot read the containers of lab: the answer is not"
    ):
        asked(lambda path, **_: answer, "lab")


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> str:
    """An address where nobody listens; no pause between two tries."""
    monkeypatch.setattr(api, "AGAIN_S", ())
    return "127.0.0.9"


def test_the_next_host_is_asked_where_one_does_not_answer(
    pve: Any, nobody: str, tmp_path: Path, fakepve_cafile: str
) -> None:
    path = written(tmp_path, {"lab": {"hosts": [nobody, pve.host]}}, pve.port, fakepve_cafile)
    assert len(found(path)[0]["inference"]) == 2


def test_a_cluster_where_nobody_answers_ends_it(
    pve: Any, nobody: str, tmp_path: Path, fakepve_cafile: str
) -> None:
    clusters = {"lab": {"hosts": [pve.host]}, "far": {"hosts": [nobody]}}
    with pytest.raises(Refused, match=nobody):
        found(written(tmp_path, clusters, pve.port, fakepve_cafile))


def test_what_is_wrong_with_each_cluster_is_told_at_once(
    pve: Any, nobody: str, tmp_path: Path, fakepve_cafile: str
) -> None:
    clusters = {"lab": {"hosts": [pve.host]}, "far": {"hosts": [nobody]}}
    pve.apitokens[TOKEN] = "another"
    with pytest.raises(Refused) as caught:
        found(written(tmp_path, clusters, pve.port, fakepve_cafile))
    first, second = str(caught.value).splitlines()
    assert first.startswith("cannot read the containers of lab: ")
    assert second.startswith("cannot read the containers of far: ")


def test_a_cluster_that_need_not_answer_is_left_out_and_told(
    pve: Any, nobody: str, tmp_path: Path, fakepve_cafile: str
) -> None:
    clusters = {"lab": {"hosts": [pve.host]}, "far": {"hosts": [nobody], "required": False}}
    groups, told = found(written(tmp_path, clusters, pve.port, fakepve_cafile))
    assert len(groups["inference"]) == 2
    assert len(told) == 1 and told[0].startswith("far: left out: cannot ") and nobody in told[0]


def test_the_certificate_is_always_verified(pve: Any, file: Path, tmp_path: Path) -> None:
    file.write_text(
        "\n".join(line for line in file.read_text().splitlines() if "ca_file" not in line)
    )
    with pytest.raises(Refused, match="certificate"):
        found(file)


def ran(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the virtual environment, with the inventory of that file."""
    return subprocess.run(
        [str(Path(sys.executable).with_name(words[0])), *words[1:]],
        cwd=ROOT,
        env={**os.environ, "STOKER_PROXMOX": str(file)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_pyinfra_itself_reads_it(pve: Any, file: Path) -> None:
    pve.ct(201).status = "stopped"
    done = ran(file, "pyinfra", "inventory/proxmox.py", "debug-inventory")
    assert done.returncode == 0, done.stderr
    told = "lab: stopped, so left out (`stopped: true` takes them too): 201 'gpu-b'"
    assert told in done.stderr.splitlines()
    said = done.stdout + done.stderr
    assert "--> Groups: inference, node_pve1, tag_stoker, proxmox" in said
    assert "--> Groups: pve, proxmox" in said
    assert "[gpu-b]" not in said


def test_so_does_stokers_own_command_line(pve: Any, tmp_path: Path, fakepve_cafile: str) -> None:
    lab = {"hosts": [pve.host], "addresses": {"pve1": "127.0.0.1", "pve2": "127.0.0.2"}}
    nobody = {"ssh_port": 1}
    file = written(tmp_path, {"lab": lab}, pve.port, fakepve_cafile, ssh=nobody)
    done = ran(file, "stoker", "status", "--json", "inventory/proxmox.py", "--limit", "inference")
    rows = [(row["host"], row["state"]) for row in json.loads(done.stdout)]
    assert rows == [("gpu-a", "unreachable"), ("gpu-b", "unreachable")]


def test_what_cannot_be_read_ends_it_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^cannot read .*/none.yaml: .*; copy [^\n]*$"):
        discovery.groups(tmp_path / "none.yaml")
