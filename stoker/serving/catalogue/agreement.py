"""Whether what is installed is what was recorded of its version."""

from collections.abc import Iterator

from stoker.serving.catalogue.catalogue import Catalogue, Option


def differences(recorded: Catalogue, installed: Catalogue) -> tuple[str, ...]:
    """A sentence for each option and variable that only one of them has, or has otherwise.

    Empty: they agree. Recorded and installed are to be of the same version.
    """
    if recorded.digest == installed.digest:
        return ()
    return (*_options(recorded, installed), *_variables(recorded, installed))


def _options(recorded: Catalogue, installed: Catalogue) -> Iterator[str]:
    before = {option.names[0]: option for option in recorded.options}
    after = {option.names[0]: option for option in installed.options}
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"{name} is not installed"
        elif name not in before:
            yield f"{name} was never recorded"
        elif before[name] != after[name]:
            yield f"{name} has another {', '.join(_parts(before[name], after[name]))}"


def _parts(one: Option, other: Option) -> Iterator[str]:
    for part, value in vars(one).items():
        if value != getattr(other, part):
            yield part


def _variables(recorded: Catalogue, installed: Catalogue) -> Iterator[str]:
    yield from (f"{name} is not read" for name in sorted(recorded.env - installed.env))
    yield from (f"{name} is read besides" for name in sorted(installed.env - recorded.env))
    if recorded.env_ended != installed.env_ended:
        yield "other variables are deprecated"
