"""What the parser of the SGLang that is really installed knows."""

import json

from pyinfra.api import FactBase, QuoteString, StringCommand

from stoker.serving.catalogue import recorded, shipping
from stoker.serving.catalogue.catalogue import Catalogue

_LIMIT_S = "120"


class InstalledCatalogue(FactBase[Catalogue | None]):
    """The `Catalogue` of a venv; None: there is no SGLang in it, or no venv yet.

    + venv: the venv's directory

    Source: SGLang's own source in that venv, read by the extractor that recorded our catalogues and
    not imported. The venv keeps the answer, so that it is instant the next time; a catalogue that
    is the recorded one does not come over the wire.
    """

    def command(self, venv: str) -> StringCommand:
        words = (shipping.program(), venv, shipping.digest(), *_digests())
        python = f"{venv}/bin/python"
        run = ("timeout", _LIMIT_S, QuoteString(python), "-I", "-S", "-c")
        there = ("test", "-x", QuoteString(python), "&&")
        return StringCommand(*there, *run, *(QuoteString(word) for word in words), "|| true")

    def process(self, output: list[str]) -> Catalogue | None:
        for line in output:
            if line.startswith("{"):
                told = json.loads(line)
                whole = told.get("catalogue")
                return recorded.catalogue(whole) if whole else recorded.load(told["sglang"])
        return None


def _digests() -> list[str]:
    found = (recorded.load(version) for version in recorded.versions())
    return [catalogue.digest for catalogue in found if catalogue]
