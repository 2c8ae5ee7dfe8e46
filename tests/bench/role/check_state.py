"""The end state of the role, as testinfra sees it; the same for whichever tool made it.

Not collected by itself: the bench gives it to pytest with `--hosts`.
"""

import hashlib
import stat

import jinja2
import pytest
from testinfra.host import Host

from . import wanted


def test_the_packages_are_installed(host: Host) -> None:
    missing = [name for names in wanted.PACKAGES for name in names]
    assert [name for name in missing if not host.package(name).is_installed] == []


def test_the_user_is_there_with_its_group_and_home(host: Host) -> None:
    user = host.user("bench")
    found = (user.exists, user.group, user.home, user.shell)
    assert found == (True, "bench", "/var/lib/bench", "/usr/sbin/nologin")


@pytest.mark.parametrize("path", wanted.DIRECTORIES)
def test_a_directory_has_its_owner_and_mode(host: Host, path: str) -> None:
    directory = host.file(path)
    owner = "bench" if path == "/var/lib/bench" else "root"
    assert directory.is_directory
    assert (directory.user, directory.group, directory.mode) == (owner, owner, 0o755)


@pytest.mark.parametrize(("source", "path", "mode"), wanted.FILES)
def test_a_file_has_its_content_owner_and_mode(
    host: Host, source: str, path: str, mode: str
) -> None:
    file = host.file(path)
    content = (wanted.HERE / "files" / source).read_bytes()
    assert file.sha256sum == hashlib.sha256(content).hexdigest()
    assert (file.user, file.group, file.mode) == ("root", "root", int(mode, 8))


@pytest.mark.parametrize(("source", "path", "service"), wanted.TEMPLATES)
def test_a_template_is_rendered(host: Host, source: str, path: str, service: str) -> None:
    text = (wanted.HERE / "templates" / source).read_text()
    template = jinja2.Template(text, keep_trailing_newline=True)
    file = host.file(path)
    assert file.content_string == template.render(service=service, port=wanted.SERVICES[service])
    assert (file.user, file.group, file.mode) == ("root", "root", 0o644)


def test_the_marks_hold_the_lines_and_nothing_else(host: Host) -> None:
    lines, empty = (host.file(path) for path in wanted.MARKS)
    assert tuple(lines.content_string.splitlines()) == wanted.LINES
    assert empty.content_string == ""
    assert (stat.S_IMODE(lines.mode), stat.S_IMODE(empty.mode)) == (0o644, 0o644)


@pytest.mark.parametrize(("path", "target"), wanted.LINKS)
def test_a_link_points_where_it_should(host: Host, path: str, target: str) -> None:
    assert host.file(path).linked_to == target


@pytest.mark.parametrize("path", wanted.VENVS)
def test_a_virtual_environment_works_and_is_bare(host: Host, path: str) -> None:
    assert host.run_test("test ! -e %s/bin/pip", path).succeeded
    assert host.check_output("%s/bin/python -c 'import sys; print(sys.prefix)'", path) == path


@pytest.mark.parametrize("service", wanted.SERVICES)
def test_a_service_runs_and_is_enabled(host: Host, service: str) -> None:
    unit = host.service(f"bench-{service}")
    assert unit.is_running
    assert unit.is_enabled
