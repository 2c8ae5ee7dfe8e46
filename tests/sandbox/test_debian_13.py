"""The other distribution and the other SGLang: Debian 13 with Python 3.13, SGLang 0.5.23."""

from collections.abc import Iterator

import pytest

from tests.sandbox.installed_parser import parser_differences
from tests.sandbox.site import Site, standing

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    options = ("--template", "debian-13")
    with standing("test-13", tmp_path_factory.mktemp("site"), *options) as found:
        found.flag_set("sandbox-tiny", sglang="0.5.23")
        yield found


def test_a_bare_debian_13_comes_to_answer_a_token_of_the_newer_sglang(site: Site) -> None:
    run = site.deploy()
    assert run.rc == 0, run.text
    assert [row["state"] for row in site.status().values()] == ["serving"]


def test_the_parser_of_0_5_23_is_what_was_recorded_of_it(site: Site) -> None:
    assert parser_differences(site) == []


def test_there_too_the_second_run_changes_nothing(site: Site) -> None:
    run = site.deploy()
    assert (run.rc, run.changed) == (0, 0), run.text
