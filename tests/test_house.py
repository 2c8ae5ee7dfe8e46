"""The house rules that a machine can hold: who imports whom, lint, types, no addresses."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Room -> what of ours it may import. A room not named here may import nothing of ours.
MAY_IMPORT: dict[str, set[str]] = {
    "deploy": {"roles", "stoker.operations"},
    "recover": {"roles", "stoker.operations"},
    "diagnose": {"roles"},
    "roles": {
        "stoker.container",
        "stoker.operations",
        "stoker.facts",
        "stoker.serving",
        "stoker.health",
        "stoker.refused",
    },
    "stoker.operations": {
        "stoker.container",
        "stoker.operations",
        "stoker.facts",
        "stoker.serving",
        "stoker.health",
        "stoker.recovery",
        "stoker.diagnosis",
        "stoker.pct",
        "stoker.proxmox",
        "stoker.refused",
    },
    "stoker.facts": {
        "stoker.container",
        "stoker.facts",
        "stoker.serving",
        "stoker.health",
        "stoker.recovery",
        "stoker.diagnosis",
        "stoker.refused",
    },
    "stoker.health": {"stoker.health"},
    "stoker.recovery": {
        "stoker.health",
        "stoker.recovery",
        "stoker.recovery.replacing",
        "stoker.zipped",
    },
    "stoker.recovery.replacing": set(),
    "stoker.diagnosis": {"stoker.health", "stoker.recovery.replacing", "stoker.zipped"},
    "stoker.zipped": set(),
    "stoker.container": {"stoker.container", "stoker.health", "stoker.refused"},
    "stoker.proxmox": {"stoker.proxmox", "stoker.refused"},
    "stoker.serving": {"stoker.serving", "stoker.refused", "stoker.zipped"},
    "stoker.pct": {"stoker.pct"},
    "stoker.connector": {"stoker.pct"},
    "stoker.testinfra": {"stoker.pct"},
    "stoker.cli": {
        "stoker.facts",
        "stoker.serving",
        "stoker.health",
        "stoker.refused",
        "stoker.pct",
    },
    "stoker.sandbox": {"stoker.sandbox", "stoker.refused"},
    "stoker.refused": set(),
    "inventory": {"stoker.proxmox", "stoker.sandbox"},
    "group_data": set(),
    "tables": {"stoker.health", "stoker.serving", "stoker.refused"},
}


def python_files() -> list[Path]:
    """Every Python file of the product itself, tests left out."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [ROOT / name for name in listed if not name.startswith("tests/")]


def module_of(path: Path) -> str:
    """The dotted name of the module in `path`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room a module stands in: its longest prefix that `MAY_IMPORT` knows."""
    rooms = [room for room in MAY_IMPORT if module == room or module.startswith(f"{room}.")]
    return max(rooms, key=len, default="")


@functools.cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Dotted names that a file imports, relative ones made absolute."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    package = list(path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *(node.module.split(".") if node.module else [])])
            if origin in ("stoker", ""):
                yield from (f"{origin}.{alias.name}" for alias in node.names)
            else:
                yield origin


def test_nobody_imports_across_the_plan() -> None:
    wrong = []
    for path in python_files():
        module = module_of(path)
        room = room_of(module)
        for name in imports_of(path):
            if name.split(".")[0] not in {"stoker", "roles", "inventory", "group_data", "deploy"}:
                continue
            target = room_of(name)
            if target == room and room != "roles":
                continue
            if target not in MAY_IMPORT.get(room, set()):
                wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_pure_rooms_do_not_know_pyinfra() -> None:
    pure = ("serving", "container", "proxmox", "pct", "health", "recovery", "diagnosis")
    wrong = [
        f"{module_of(path)} imports {name}"
        for path in python_files()
        if module_of(path).startswith(tuple(f"stoker.{room}" for room in pure))
        for name in imports_of(path)
        if name.split(".")[0] in {"pyinfra", "pyinfra_cli", "gevent", "paramiko"}
    ]
    assert wrong == []


ON_A_NODE = (
    "stoker.pct",
    "stoker.health",
    "stoker.recovery",
    "stoker.diagnosis",
    "stoker.sandbox.node",
    "stoker.serving.catalogue.extracting",
    "stoker.facts.on_node",
    "stoker.operations.on_node",
)


def test_what_runs_on_a_node_needs_only_the_standard_library() -> None:
    wrong = [
        f"{path.name} imports {name}"
        for path in python_files()
        if module_of(path).startswith(ON_A_NODE)
        for name in imports_of(path)
        if name.split(".")[0] not in {*sys.stdlib_module_names, "stoker"}
    ]
    assert wrong == []


OLDEST = (
    "stoker.pct.agent",
    "stoker.health",
    "stoker.recovery",
    "stoker.diagnosis",
    "stoker.serving.catalogue.extracting",
    "stoker.facts.on_node",
    "stoker.operations.on_node",
)


def test_what_runs_on_a_node_is_python_3_9() -> None:
    for path in python_files():
        if module_of(path).startswith(OLDEST):
            ast.parse(path.read_text(), str(path), feature_version=(3, 9))


def test_no_file_names_a_package_registry() -> None:
    registry = re.compile(r"(pypi|pythonhosted|registry\.npmjs)\.org|deb\.debian\.org", re.I)
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    named = [
        name
        for name in listed
        if name
        and name != "tests/test_house.py"
        and registry.search((ROOT / name).read_text(errors="replace"))
    ]
    assert named == []


@pytest.mark.parametrize(
    "words",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=["lint", "format", "types"],
)
def test_the_linters_have_nothing_to_say(words: list[str]) -> None:
    result = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
