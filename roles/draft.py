"""Copies of draft models whose tensors have the names that SGLang loads."""

from pathlib import Path

from pyinfra import host
from pyinfra.api import deploy

from stoker.operations.draft import renamed
from stoker.serving import selection

SITE = Path()


@deploy("Draft")
def draft() -> None:
    """From the flag sets' `draft.renamed_from`; a run without one has nothing to do here."""
    copies = selection.renamed_drafts(SITE, host.data.flagsets)
    if copies:
        renamed(name="Give drafts the tensor names that SGLang loads", copies=copies)
