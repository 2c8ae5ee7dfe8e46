"""Combinations that are known to be bad: rows of data with their source, and what they say of a
flag set. See docs/checks.md for how a row is written."""

from stoker.serving.rules.checking import check as check
from stoker.serving.rules.loading import KNOWN_BAD as KNOWN_BAD
from stoker.serving.rules.loading import load as load
from stoker.serving.rules.rule import Rule as Rule
