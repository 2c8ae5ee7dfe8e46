"""Stands in for SGLang: the same module name, options and words, none of the weight."""
