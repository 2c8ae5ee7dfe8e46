"""The scripts that bring the driver's libraries in, run on a loader's cache of their own."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from stoker.container.libraries import Inside
from stoker.facts.driver_libraries import DriverLibraries
from stoker.operations import driver_scripts as scripts
from tests.operations.driver_files import Box, driver, program

OLD, NEW = "580.95.05", "580.126.09"


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def sent(box: Box, version: str) -> None:
    """What SEND leaves: a tree that is not in use yet."""
    driver(box.home / f"{version}.stoker-new" / "lib", version)
    program(box.home / f"{version}.stoker-new" / "bin", "nvidia-smi", "echo smi")


def switched(box: Box, version: str) -> subprocess.CompletedProcess[str]:
    new = box.home / f"{version}.stoker-new"
    return box.run(
        scripts.SWITCH, str(box.home), version, *box.words, "sent" if new.exists() else ""
    )


def taken(box: Box, name: str = "libcuda.so.1") -> str:
    said = box.run("ldconfig -p").stdout
    lines = [line for line in said.splitlines() if line.split()[:1] == [name]]
    return lines[0].rpartition(" ")[2] if lines else ""


def test_the_loader_takes_the_tree_before_the_distribution_s_libraries(box: Box) -> None:
    driver(box.lib, "999.99")
    sent(box, NEW)
    done = switched(box, NEW)
    assert done.returncode == 0, done.stderr
    assert Path(taken(box)).resolve() == box.home / NEW / "lib" / f"libcuda.so.{NEW}"
    assert box.run(str(box.smi)).stdout == "smi\n"
    assert sorted(path.name for path in box.home.iterdir()) == [NEW, "current"]
    assert switched(box, NEW).returncode == 0, "it can be run again"


def test_a_tree_that_the_loader_does_not_take_is_an_error_that_names_what_it_takes(
    box: Box,
) -> None:
    driver(box.lib, "999.99")
    (box.conf.parent / "00-aaa.conf").write_text(f"{box.lib}\n")
    sent(box, NEW)
    done = switched(box, NEW)
    assert done.returncode == 1
    assert done.stderr.startswith(f"the loader takes {box.lib}/libcuda.so.1, not {box.home}/{NEW}")


def test_a_damaged_tree_is_replaced_by_what_was_sent(box: Box) -> None:
    sent(box, NEW)
    switched(box, NEW)
    (box.home / NEW / "lib" / f"libcuda.so.{NEW}").unlink()
    assert switched(box, NEW).returncode == 1
    sent(box, NEW)
    assert switched(box, NEW).returncode == 0
    assert Path(taken(box)).exists()


def test_a_nvidia_smi_of_somebody_else_stays(box: Box) -> None:
    program(box.smi.parent, "nvidia-smi", "echo theirs")
    sent(box, NEW)
    assert switched(box, NEW).returncode == 0
    assert box.run(str(box.smi)).stdout == "theirs\n"


def test_a_tree_that_a_process_has_mapped_stays_until_it_has_ended(box: Box) -> None:
    sent(box, OLD)
    assert switched(box, OLD).returncode == 0
    mapped = box.home / OLD / "lib" / f"libcuda.so.{OLD}"
    program_text = (
        "import mmap, sys; f = open(sys.argv[1], 'rb');"
        "m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); print('', flush=True);"
        "sys.stdin.read()"
    )
    words = [sys.executable, "-I", "-S", "-c", program_text, str(mapped)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as user:
        assert user.stdout and user.stdout.readline()
        sent(box, NEW)
        done = switched(box, NEW)
        assert f"use {user.pid} " in done.stdout
        assert f" {mapped}" in done.stdout
        assert mapped.exists()
    assert box.run(scripts.TIDY, str(box.home), NEW).returncode == 0
    assert sorted(path.name for path in box.home.iterdir()) == [NEW, "current"]


def test_ours_are_left_off_without_a_trace(box: Box) -> None:
    sent(box, OLD)
    switched(box, OLD)
    driver(box.lib, NEW)
    done = box.run(scripts.WITHDRAW, str(box.home), NEW, *box.words)
    assert done.returncode == 0, done.stderr
    assert taken(box) == f"{box.lib}/libcuda.so.1"
    assert list(box.home.iterdir()) == []
    assert not box.conf.exists()
    assert not box.smi.is_symlink()


def send(box: Box, kind: str, source: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    program(
        box.root / "bin",
        "lxc-attach",
        'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    )
    new = box.home / f"{NEW}.stoker-new"
    assert box.run(scripts.PREPARE, str(new)).returncode == 0
    words = ("200", NEW, str(new), kind, source, *map(str, folders))
    return box.run(scripts.SEND, *words, shell="bash")


def arrived(box: Box) -> list[str]:
    tree = box.home / f"{NEW}.stoker-new"
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file())


LIBRARIES = sorted(
    f"lib/{name}.so.{NEW}" for name in ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler")
)


def test_the_node_s_own_libraries_of_that_version_arrive_with_nvidia_smi(box: Box) -> None:
    node = box.root / "node"
    driver(node, "570.1")
    driver(node, NEW)
    (node / f"libnvidia-cfg.so.{NEW}.dpkg-new").write_text("")
    (node / "libnvidia-nvvm70.so.4").write_text("it has no version of a driver")
    (node / "libnvidia-nvvm.so.570.1").write_text("of another driver")
    program(box.root / "bin", "nvidia-smi", "echo smi")
    done = send(box, "node", "", box.root / "absent", node)
    assert done.returncode == 0, done.stderr
    nvvm = "lib/libnvidia-nvvm70.so.4"
    assert arrived(box) == sorted(["bin/nvidia-smi", *LIBRARIES, nvvm])
    tree = box.home / f"{NEW}.stoker-new"
    there = tree / LIBRARIES[0]
    assert there.read_bytes() == (node / Path(LIBRARIES[0]).name).read_bytes()
    assert (tree.stat().st_mode & 0o777, there.stat().st_mode & 0o022) == (0o755, 0)
    assert switched(box, NEW).returncode == 0


def test_a_run_file_is_extracted_and_never_installed(box: Box) -> None:
    kept = box.root / "kept"
    driver(kept, NEW)
    (kept / "32").mkdir()
    (kept / "32" / f"libcuda.so.{NEW}").write_text("32 bit")
    program(kept, "nvidia-smi", "echo smi")
    run = box.root / "NVIDIA-Linux-x86_64.run"
    run.write_text(f'[ "$1 $2" = "--extract-only --target" ] && cp -a {kept} "$3"\n')
    done = send(box, "run", str(run))
    assert done.returncode == 0, done.stderr
    assert arrived(box) == ["bin/nvidia-smi", *LIBRARIES]


def test_packages_are_unpacked_and_never_installed(box: Box) -> None:
    made = box.root / "made"
    driver(made / "usr" / "lib" / "x86_64-linux-gnu", NEW)
    program(made / "usr" / "bin", "nvidia-smi", "echo smi")
    (made / "DEBIAN").mkdir()
    (made / "DEBIAN" / "control").write_text(
        f"Package: libcuda1\nVersion: {NEW}-1\nArchitecture: amd64\n"
        "Maintainer: nobody <nobody@example.net>\nDescription: a test\n"
    )
    source = box.root / "packages"
    source.mkdir()
    build = ["dpkg-deb", "-Znone", "--build", str(made), str(source / "libcuda1.deb")]
    if subprocess.run(build, capture_output=True, check=False).returncode:
        pytest.skip("no dpkg-deb")
    done = send(box, "packages", str(source), Path("/usr/lib/x86_64-linux-gnu"))
    assert done.returncode == 0, done.stderr
    assert arrived(box) == ["bin/nvidia-smi", *LIBRARIES]
    (source / "libcuda1.deb").unlink()
    assert send(box, "packages", str(source)).stderr.endswith("packages holds no .deb\n")


def test_a_source_of_another_version_says_which_it_has(box: Box) -> None:
    node = box.root / "node"
    driver(node, "570.1")
    done = send(box, "node", "", node)
    assert done.returncode == 1
    assert done.stderr == (f"no libcuda and libnvidia-ml of {NEW}; libcuda is there in: 570.1\n")
    run = box.root / "broken.run"
    run.write_text("echo 'no space left' >&2; exit 1\n")
    done = send(box, "run", str(run))
    assert done.stderr == f"{run} does not extract: no space left\n"


def test_what_arrives_damaged_is_noticed(box: Box) -> None:
    node = box.root / "node"
    driver(node, NEW)
    program(
        box.root / "bin",
        "tar",
        f'/bin/tar "$@"; case $1 in -x*) '
        f"echo x >>{box.home}/{NEW}.stoker-new/lib/libcuda.so.{NEW} ;; esac",
    )
    # The PATH that is set inside is a container's; here the damage is done by what comes before it.
    damaged = scripts.SEND.replace("PATH=/usr/local/sbin:", f"PATH={box.root}/bin:")
    program(
        box.root / "bin",
        "lxc-attach",
        'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    )
    new = box.home / f"{NEW}.stoker-new"
    box.run(scripts.PREPARE, str(new))
    done = box.run(damaged, "200", NEW, str(new), "node", "", str(node), shell="bash")
    assert done.returncode != 0
    assert f"libcuda.so.{NEW}: FAILED" in done.stdout + done.stderr


@pytest.mark.parametrize("attach", ["", "echo 1 >{}; exec sleep 60"])
def test_a_frozen_container_is_not_waited_for_long(box: Box, attach: str) -> None:
    node, group = box.root / "node", box.root / "cgroup" / "lxc" / "200"
    driver(node, NEW)
    group.mkdir(parents=True)
    (box.root / "mounts").write_text(f"cgroup2 {box.root}/cgroup cgroup2 rw 0 0\n")
    (group / "cgroup.freeze").write_text("0\n" if attach else "1\n")
    program(box.root / "bin", "lxc-attach", attach.format(group / "cgroup.freeze") or "exit 9")
    script = scripts.SEND.replace("/proc/self/mounts", f"{box.root}/mounts")
    hurried = script.replace("sleep 5", "sleep 0.05").replace("-lt 300", "-lt 1")
    began = time.monotonic()
    done = box.run(hurried, "200", NEW, "/new", "node", "", str(node), shell="bash")
    assert done.returncode == scripts.FROZEN
    assert done.stderr.endswith(
        "CT 200 is frozen, by a backup for instance; when that has ended, run this again\n"
    )
    assert time.monotonic() - began < 20


def removed(box: Box, packages: str, plan: str = "") -> subprocess.CompletedProcess[str]:
    log = box.root / "apt.log"
    program(box.root / "bin", "apt-get", f'echo "$@" >>{log}; case $1 in -s) echo "{plan}" ;; esac')
    program(box.root / "bin", "dpkg", "case $2 in *owned*) exit 0 ;; esac; exit 1")
    return box.run(scripts.REMOVE, packages, OLD, str(box.lib))


def test_only_files_of_that_version_that_no_package_owns_are_removed(box: Box) -> None:
    driver(box.lib, OLD)
    driver(box.lib, NEW, names=("libcuda",))
    driver(box.lib, OLD, names=("libnvidia-ml",))
    (box.lib / f"libowned.so.{OLD}").write_text("")
    (box.lib / "libc.so.6").write_text("")
    assert removed(box, "").returncode == 0
    assert sorted(path.name for path in box.lib.iterdir()) == [
        "libc.so.6",
        "libcuda.so.1",
        f"libcuda.so.{NEW}",
        f"libowned.so.{OLD}",
    ]
    assert not (box.root / "apt.log").exists()


def test_packages_go_by_apt_unless_it_would_take_others_along(box: Box) -> None:
    plan = "Remv libcuda1 [1]\nRemv nvidia-smi [1]"
    assert removed(box, "libcuda1", plan).returncode == 0
    assert (box.root / "apt.log").read_text().splitlines()[1].endswith("remove libcuda1")
    (box.root / "apt.log").unlink()
    done = removed(box, "libcuda1", f"{plan}\nRemv ffmpeg [5]")
    assert (done.returncode, len((box.root / "apt.log").read_text().splitlines())) == (1, 1)
    assert done.stderr == "apt would remove ffmpeg too; remove libcuda1 by hand\n"


def test_the_fact_reads_what_the_scripts_made(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    from stoker.facts import driver_libraries as fact

    sent(box, NEW)
    switched(box, NEW)
    driver(box.home / f"{OLD}.stoker-new" / "lib", OLD)
    driver(box.lib, OLD)
    current = box.home / "current"
    for name, value in {
        "HOME": str(box.home),
        "CURRENT": str(current),
        "CONF": str(box.conf),
        "CONF_TEXT": f"{current}/lib\n",
        "FOLDERS": (str(box.lib), str(box.root / "absent")),
    }.items():
        monkeypatch.setattr(fact, name, value)

    def read() -> Inside:
        words = DriverLibraries().command(loaded=NEW).get_raw_value()
        found = DriverLibraries().process(box.run(words).stdout.splitlines())
        assert found
        return found

    found = read()
    assert [str(one) for one in found.own] == [
        f"{box.lib}/libcuda.so.{OLD} (of no package)",
        f"{box.lib}/libnvidia-ml.so.{OLD} (of no package)",
    ]
    assert (found.trees, found.current, found.conf) == ((NEW,), NEW, True)
    assert found.taken == {"libcuda": NEW, "libnvidia-ml": NEW}
    (box.home / NEW / "lib" / f"libcuda.so.{NEW}").unlink()
    assert read().taken == {"libnvidia-ml": NEW}, "the cache names it, and it is gone"
