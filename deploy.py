"""Which host gets which roles, in order: the table of contents of a deployment.

pyinfra inventory/lab.py deploy.py
"""

from pyinfra import host

from roles.container import container
from roles.cuda import cuda
from roles.draft import draft
from roles.driver import driver
from roles.flagsets import flagsets
from roles.gpus import gpus
from roles.node import node
from roles.service import service
from roles.sglang import sglang
from roles.system import system
from roles.uv import uv
from roles.venv import venv
from roles.watch import watch
from roles.wheels import wheels

flagsets()
node()

if "inference" in host.groups:
    container()

wheels()

if "pve" in host.groups:
    watch()

if "inference" in host.groups:
    system()
    driver()
    gpus()
    uv()
    venv()
    cuda()
    sglang()
    draft()
    service()
