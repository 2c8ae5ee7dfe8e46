"""The driver's libraries of a container: asked of its node, brought in by it, and told when not."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stoker.container.asked import Driver
from stoker.container.libraries import Inside, Library, Use
from stoker.facts.driver_libraries import (
    INSTALLED,
    DriverLibraries,
    DriverPackages,
    DriverUses,
    uses,
)
from stoker.operations import driver, driver_scripts, driver_source
from stoker.pct.client import Result
from stoker.pct.errors import Frozen
from stoker.refused import Refused
from tests.operations.given import Given, commands, run

LOADED = "580.126.09"
OURS = f"/opt/stoker/driver/{LOADED}/lib"
FITS = Inside(
    takes={name: f"{OURS}/{name}.so.{LOADED}" for name in ("libcuda", "libnvidia-ml")},
    trees=(LOADED,),
    current=LOADED,
    conf=True,
)
OTHER = Library("/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01", "libcuda1")


@dataclass
class Node:
    """A node that answers by what it is asked, and takes down the rest."""

    loaded: str = LOADED
    installed: str = LOADED
    sent: Result = field(default_factory=lambda: Result(0, b"", b""))
    kinds: dict[str, str] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)
    name: str = "pve1"
    ran: list[list[str]] = field(default_factory=list)
    put: dict[str, bytes] = field(default_factory=dict)

    def run(self, words: list[str], stdin: Any = None, timeout: float | None = None) -> Result:
        self.ran.append(words)
        if driver_scripts.SEND in words:
            return self.sent
        if words[0] == "test":
            return Result(0 if words[2] in self.there else 1, b"", b"")
        if stdin is not None:
            self.put[words[4]] = stdin.read()
            return Result(0, b"", b"")
        if words[2:3] == [driver_source._KIND]:
            return Result(0, self.kinds.get(words[4], "").encode(), b"")
        said = self.installed if words == INSTALLED else self.loaded
        return Result(0, f"{said}\n".encode(), b"")


class Container(Given):
    """A container behind such a node; `found` is what it has, before and after each command."""

    def __init__(self, node: Node, *found: Inside | None, using: tuple[Use, ...] = ()) -> None:
        super().__init__({DriverUses: list(using)})
        self.connector = SimpleNamespace(vmid=200, node=node)
        self.found = list(found)
        self.done: list[str] = []
        self.error: Exception | None = None
        self.stdout: list[str] = []

    def get_fact(self, fact: type, **arguments: Any) -> Any:
        if fact is DriverLibraries:
            return self.found.pop(0) if len(self.found) > 1 else self.found[0]
        return super().get_fact(fact, **arguments)

    def run_shell_command(self, command: Any, **_: Any) -> tuple[bool, Any]:
        if self.error:
            raise self.error
        self.done.append(command.get_raw_value())
        return True, SimpleNamespace(stdout_lines=self.stdout, stderr="")


def carried_out(host: Container, wish: Driver | None = None) -> bool:
    """The one thing that the operation has to do, done."""
    (command,) = commands(driver.matched, host, driver=wish or Driver())
    return bool(command.execute(None, host, {}))


def refusal(host: Container, wish: Driver | None = None) -> str:
    ((kind, sentence),) = run(driver.matched, host, driver=wish or Driver())
    assert kind == "refused"
    return sentence


def test_what_fits_is_left_alone_at_the_cost_of_one_look_on_either_side() -> None:
    node = Node()
    host = Container(node, FITS)
    assert run(driver.matched, host, driver=Driver()) == []
    assert (len(node.ran), host.done) == (1, [])


def test_a_node_without_a_module_has_nothing_to_match() -> None:
    host = Container(Node(loaded=""), Inside())
    assert run(driver.matched, host, driver=Driver()) == []
    assert "there is nothing to match" in host.told[0]


def test_a_tree_is_sent_by_the_node_itself_and_then_used() -> None:
    node = Node()
    host = Container(node, Inside(), FITS)
    assert carried_out(host)
    sent = next(words for words in node.ran if driver_scripts.SEND in words)
    new = f"/opt/stoker/driver/{LOADED}.stoker-new"
    assert sent[:2] + sent[4:8] == ["bash", "-c", "200", LOADED, new, "node"]
    prepare, switch = host.done
    assert new in prepare
    assert f" {LOADED} /opt/stoker/driver/current " in switch.replace("'", "")
    assert host.told[-1] == f"the driver's libraries are of {LOADED} now, as its node's module is"


def test_a_tree_that_is_there_is_not_sent_again() -> None:
    node = Node()
    host = Container(node, Inside(trees=(LOADED,)), FITS)
    assert carried_out(host)
    assert (len(node.ran), len(host.done)) == (1, 1)


def test_others_are_removed_only_after_ours_are_in_use() -> None:
    host = Container(Node(), Inside(own=(OTHER,)), FITS)
    assert carried_out(host, Driver(replace=True))
    assert len(host.done) == 3
    assert "apt-get" in host.done[2]
    assert host.done[2].split("apt-get")[-1].count("libcuda1 535.183.01") == 1


def test_others_in_the_way_are_refused_before_anything_is_done() -> None:
    host = Container(Node(), Inside(own=(OTHER,)))
    assert "libcuda.so.535.183.01 (package libcuda1)" in refusal(host)
    assert host.done == []


def test_a_node_whose_upgrade_waits_for_a_reload_says_so() -> None:
    node = Node(installed="580.142", sent=Result(1, b"", b"x\nno libcuda of it\n"))
    host = Container(node, Inside())
    assert not carried_out(host)
    assert host.told[-1] == (
        "cannot match the driver's libraries: 580.126.09 is loaded on the node, and the node "
        "itself did not give them: no libcuda of it; reboot the node or reload its module, since "
        "580.142 is installed"
    )


def test_a_container_that_is_full_is_not_blamed_on_the_source() -> None:
    said = (
        b"tar: ./lib/x: Cannot write: No space left on device\ntar: Exiting with failure status\n"
    )
    host = Container(Node(sent=Result(2, b"", said)), Inside())
    assert not carried_out(host)
    assert host.told[-1].endswith(
        "No space left on device; make room for them in the container, below /opt/stoker/driver"
    )


def test_a_container_that_is_frozen_in_the_middle_is_not_blamed_on_the_source() -> None:
    node = Node(sent=Result(driver_scripts.FROZEN, b"", b"CT 200 is frozen; run this again\n"))
    host = Container(node, Inside())
    assert not carried_out(host)
    assert host.told[-1] == (
        "cannot match the driver's libraries: CT 200 is frozen; run this again"
    )


def test_a_frozen_container_is_a_sentence_before_anything_enters_it() -> None:
    node = Node()
    host = Container(node, Inside())
    host.error = Frozen("cannot run: CT 200 is frozen; thaw it")
    assert not carried_out(host)
    assert host.told[-1] == "cannot run: CT 200 is frozen; thaw it"
    assert len(node.ran) == 1


def test_who_still_runs_with_others_is_named_and_not_restarted() -> None:
    host = Container(Node(), Inside(trees=(LOADED,)), FITS)
    old = "/opt/stoker/driver/570.1/lib/libcuda.so.570.1"
    host.stdout = ["", f"use 77 sglang.service {old}", f"use 78 sglang.service {old}"]
    assert carried_out(host)
    (told,) = [line for line in host.told if "still runs" in line]
    assert told.endswith("not of 580.126.09; systemctl restart sglang.service in the container")
    assert not any("systemctl" in command for command in host.done)


LEFT = Inside(takes=FITS.takes, trees=("570.1", LOADED), current=LOADED, conf=True)


def test_a_tree_of_before_goes_when_nobody_uses_it_any_more() -> None:
    (tidy,) = run(driver.matched, Container(Node(), LEFT), driver=Driver())
    assert isinstance(tidy, str)
    assert tidy.replace("'", "").endswith(f"/opt/stoker/driver {LOADED}")
    using = Use(77, "a.service", "/opt/stoker/driver/570.1/lib/libcuda.so.570.1")
    host = Container(Node(), LEFT, using=(using,))
    assert run(driver.matched, host, driver=Driver()) == []
    assert "a.service still runs with the driver's libraries of 570.1" in host.told[0]
    hidden = Container(Node(), LEFT, using=(Use(78, "", "/"),))
    assert run(driver.matched, hidden, driver=Driver()) == []


def test_a_container_that_does_not_answer_is_refused() -> None:
    assert "gpu-a does not say what it has" in refusal(Container(Node(), None))


def test_a_host_without_a_node_is_left_alone() -> None:
    host = Container(Node(), FITS)
    host.connector = SimpleNamespace()
    assert run(driver.matched, host, driver=Driver()) == []
    assert "reached without its node" in host.told[0]


def test_installed_packages_of_the_driver_are_held_and_none_installed() -> None:
    packages = (
        ("libcuda1", "install", "580.126.09-1"),
        ("libnvidia-container1", "install", "1.17.8-1"),
        ("nvidia-smi", "hold", "580.126.09-1"),
    )
    assert run(driver.held, Given({DriverPackages: packages})) == ["apt-mark hold libcuda1"]
    assert run(driver.held, Given({DriverPackages: packages[1:]})) == []


def test_a_source_on_the_node_is_used_where_it_lies() -> None:
    node = Node(kinds={"/srv/a.run": "run\n", "/srv/packages": "packages\n"})
    assert driver_source.on_node(node, "/srv/a.run") == ("run", "/srv/a.run")
    assert driver_source.on_node(node, "/srv/packages") == ("packages", "/srv/packages")
    assert driver_source.on_node(node, None) == ("node", "")


def test_a_source_that_is_only_here_is_uploaded_once(tmp_path: Path) -> None:
    run_file = tmp_path / "a.run"
    run_file.write_bytes(b"all of it")
    node = Node()
    kind, path = driver_source.on_node(node, str(run_file))
    assert (kind, path.startswith("/var/lib/stoker/driver/")) == ("run", True)
    assert node.put == {path: b"all of it"}
    again = Node(there={path})
    assert driver_source.on_node(again, str(run_file)) == (kind, path)
    assert again.put == {}


def test_a_directory_of_packages_is_uploaded_as_one(tmp_path: Path) -> None:
    for name in ("a.deb", "b.deb", "notes.txt"):
        (tmp_path / name).write_text(name)
    node = Node()
    kind, path = driver_source.on_node(node, str(tmp_path))
    assert kind == "packages"
    assert sorted(node.put) == [f"{path}/a.deb", f"{path}/b.deb"]


def test_a_source_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    for source in (str(tmp_path), "/nowhere/a.run"):
        with pytest.raises(Refused, match=r"is no \.run file and no directory of \.deb"):
            driver_source.on_node(Node(), source)


def test_what_the_node_and_the_processes_say_is_read_line_by_line() -> None:
    printed = [
        "package libcuda1 hold 580.1-1 installed",
        "package nvidia-smi deinstall  config-files",
    ]
    assert DriverPackages().process(printed) == (("libcuda1", "hold", "580.1-1"),)
    said = ["", "use 7 - /usr/lib/libcuda.so.1.2 (deleted)", "use 8 a.service /"]
    assert uses(said) == [Use(7, "", "/usr/lib/libcuda.so.1.2 (deleted)"), Use(8, "a.service", "/")]
