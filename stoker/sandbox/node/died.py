"""Stand-in: how a Proxmox command fails, in the words and exit codes measured on a real node."""

from __future__ import annotations

from typing import Dict

DEFAULT_CODE = 255


class Died(Exception):  # noqa: N818 - it is Perl's word
    """Perl's `die`: the text for stderr and the exit code (the leftover errno, else 255)."""

    def __init__(self, text: str, code: int = DEFAULT_CODE) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class BadRequest(Died):
    """A `400`: what the command line itself is refused with; the usage line follows it."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(f"400 {text}", code)


class BadParameters(BadRequest):
    """`400 Parameter verification failed.` with one line a parameter, sorted by name."""

    def __init__(self, errors: Dict[str, str]) -> None:
        lines = [f"{key}: {errors[key]}" for key in sorted(errors)]
        super().__init__("\n".join(["Parameter verification failed.", *lines]))
        self.errors = dict(errors)


def no_config(vmid: int, node: str) -> Died:
    """What an id that is not on this node gives, be it nowhere or on another node."""
    return Died(f"Configuration file 'nodes/{node}/lxc/{vmid}.conf' does not exist", 2)
