"""Reads what SGLang's parser knows out of its source, without importing it.

Standard library only and Python 3.9: it also runs inside a container, over the installed tree.
"""
