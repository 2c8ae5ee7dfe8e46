"""What lies in a model's directory: read from file names, config and headers, never the weights."""

from stoker.serving.weights.checks import check

__all__ = ["check"]
