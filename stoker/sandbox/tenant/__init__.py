"""A neighbour's server: a small stand-in in somebody else's container, which must never notice us.

It really holds its GPU's nodes and answers on port 8000, in OpenAI's form.
"""

from pathlib import Path

from stoker.sandbox.files import replace_link, write_atomically

PORT = 8000
UNIT = "tenant.service"
_HERE = Path(__file__).parent


def placed(root: Path) -> list[Path]:
    """The server and its unit are in that root file system; every path that was made."""
    program = root / "opt/tenant/server.py"
    unit = root / "etc/systemd/system" / UNIT
    wanted = root / "etc/systemd/system/multi-user.target.wants" / UNIT
    write_atomically(program, (_HERE / "server.py").read_bytes())
    write_atomically(unit, (_HERE / UNIT).read_bytes())
    replace_link(wanted, f"../{UNIT}")
    return [program.parent, program, unit, wanted]
