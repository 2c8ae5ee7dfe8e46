"""The containers alone, without anything in them."""

from pyinfra import host

from roles.container import container
from roles.flagsets import flagsets

flagsets()

if "inference" in host.groups:
    container()
