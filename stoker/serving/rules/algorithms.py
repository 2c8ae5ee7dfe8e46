"""NCCL_ALGO as NCCL reads it.

Read in NCCL's parser and seen in the libraries of 2.28.9 and 2.30.7 (`Unrecognized element token`):
lists of algorithms are separated by `;`, the first may stand for every collective, the others name
theirs before a colon, `^` takes algorithms away instead, case does not matter, blanks do. In both
a collective that is left without an algorithm is an error.
"""

ALL = frozenset({"tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat"})


def left_to(collective: str, text: str) -> frozenset[str] | None:
    """The algorithms, in lower case, that this value leaves to a collective such as `AllGather`.

    None: NCCL does not read it (an algorithm that it does not know, a list without its collective).
    """
    left = ALL
    for number, entry in enumerate(part for part in text.split(";") if part):
        function, colon, elements = entry.rpartition(":")
        if number and not colon:
            return None
        named = [element for element in elements.removeprefix("^").split(",") if element]
        chosen = frozenset(element.casefold().replace("_", "") for element in named)
        if not chosen <= ALL:
            return None
        if not colon or function.casefold() == collective.casefold():
            left = ALL - chosen if elements.startswith("^") else chosen
    return left
