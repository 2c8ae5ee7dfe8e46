"""The parser of the SGLang in a container: asked itself, read from its source, and as recorded."""

import shlex

from stoker.facts.catalogue import InstalledCatalogue
from stoker.serving.catalogue import agreement, recorded
from tests.sandbox.site import Site
from tests.serving.catalogue import real_parser

UNIT = "/usr/local/lib/systemd/system/sglang@0.service"


def parser_differences(site: Site) -> list[str]:
    """Every way in which the three differ, of CT 200's server; empty: in none."""
    python = site.node(f"pct exec 200 -- sed -n s/^Python=//p {UNIT}").stdout.strip()
    command = InstalledCatalogue().command(venv=python.removesuffix("/bin/python"))
    words = shlex.join(["pct", "exec", "200", "--", "sh", "-c", command.get_raw_value()])
    installed = InstalledCatalogue().process(site.node(words).stdout.splitlines())
    assert installed is not None
    known = recorded.load(installed.sglang)
    assert known is not None
    asked = shlex.join(["pct", "exec", "200", "--", python, "-c", real_parser.DUMP])
    real = real_parser.actions(site.node(asked).stdout)
    return [*agreement.differences(known, installed), *real_parser.differences(real, installed)]
