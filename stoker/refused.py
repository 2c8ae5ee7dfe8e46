"""The one exception of our own for bad input and impossible requests."""


class Refused(Exception):  # noqa: N818 - it reads as what happened
    """What was asked cannot be done; nothing was changed.

    The text follows one form: `cannot <what was asked>: <what is>; <what to do>`. Where there are
    several reasons they are all given, one a line.
    """
