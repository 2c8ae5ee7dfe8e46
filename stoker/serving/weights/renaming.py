"""A draft as the copy of it will be, so that it can be checked before there is one."""

from dataclasses import replace

from stoker.serving.inside.rename_draft import NotRenamedError, names_of
from stoker.serving.weights.files import Draft


def renamed(draft: Draft, destination: str) -> Draft:
    """The same draft with the names that its copy will have; as it is, where it cannot be made."""
    try:
        names = names_of(list(draft.keys))
    except NotRenamedError:
        return draft
    return replace(
        draft,
        files=replace(draft.files, path=destination),
        keys=tuple(sorted(names.values())),
        shapes=tuple(sorted((names.get(name, name), shape) for name, shape in draft.shapes)),
    )
