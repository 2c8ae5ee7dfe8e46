"""The agent as it is sent: its modules in one compressed piece, behind a first line for Python."""

import functools
import json
import shlex
import zlib
from pathlib import Path

# In the order of their imports. On the node they get their own names, so that they find each other.
MODULES = (
    "frames", "loop", "processes", "checks", "locks", "pipes", "output", "call", "shell", "once",
    "serve",
)  # fmt: skip

_BOOT = """
import os,sys,zlib,json,types
b=b''
while len(b)<%d:
 p=os.read(0,%d-len(b))
 if not p:sys.exit('no agent came')
 b+=p
def module(name,text=''):
 sys.modules[name]=m=types.ModuleType(name);m.__path__=[]
 exec(compile(text,name,'exec'),m.__dict__)
for n in('stoker','stoker.pct','stoker.pct.agent'):module(n)
for n,t in json.loads(zlib.decompress(b)):module('stoker.pct.agent.'+n,t)
sys.modules['stoker.pct.agent.serve'].main()
"""


@functools.cache
def payload() -> bytes:
    """What goes first over the agent's standard input."""
    folder = Path(__file__).parent / "agent"
    texts = [(name, (folder / f"{name}.py").read_text()) for name in MODULES]
    return zlib.compress(json.dumps(texts).encode(), 9)


def command(python: str = "/usr/bin/python3") -> str:
    """The shell command for the node that reads `payload` and becomes the agent.

    -I and -S: neither the environment nor anything installed on the node has a say in it.
    """
    size = len(payload())
    return shlex.join([python, "-I", "-S", "-c", _BOOT % (size, size)])
