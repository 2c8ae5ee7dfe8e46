"""deploy.py with a small server in SGLang's place: containers from nothing to a token."""

from pyinfra import host

from roles.container import container
from roles.driver import driver
from roles.flagsets import flagsets
from roles.gpus import gpus
from roles.node import node
from roles.service import service
from roles.watch import watch
from stoker.operations import barrier
from tests.bench.containers import small

flagsets()
node()

if "inference" in host.groups:
    container()

barrier.reached(name="Wait for the containers")

if "pve" in host.groups:
    watch()

if "inference" in host.groups:
    small.python()
    driver()
    gpus()
    small.placed()
    service()
