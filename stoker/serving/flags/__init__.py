"""The words and variables of one server against what its SGLang version knows."""

from stoker.serving.flags.checking import check

__all__ = ["check"]
