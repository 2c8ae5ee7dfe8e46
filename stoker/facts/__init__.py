"""Reads: one command, one parse, a frozen dataclass out; `default` means absent."""
