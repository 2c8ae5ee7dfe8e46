"""Whether the pieces fit each other: ranks and heads, ranks and GPUs, ports, context, parser."""

from stoker.serving.fitting.checking import check as check
