"""Stand-in: the other nodes of the cluster: requests sent on to them, and what they tell."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .. import access, cluster
from . import authentication, problem

CONNECT_S = 5
TIMEOUT_S = 30
PASSED = ("Authorization", "Cookie", "CSRFPreventionToken", "Content-Type")


class Answer(NamedTuple):
    """What the other node said, to be handed back as it is."""

    status: int
    reason: str
    body: bytes


def sent_on(
    node: str, method: str, target: str, headers: Mapping[str, str], body: Optional[bytes]
) -> Answer:
    """The same request to another node, whose sender it checks itself; 595 where it is down."""
    passed = {name: headers[name] for name in PASSED if name in headers}
    trust = ssl.create_default_context(cafile=f"{cluster.ROOT}/pve-root-ca.pem")
    # The cluster's authority has no keyUsage, which Python 3.13 and later refuse by default.
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    there = http.client.HTTPSConnection(
        cluster.addresses()[node], cluster.PORT, timeout=CONNECT_S, context=trust
    )
    try:
        there.connect()
        there.sock.settimeout(TIMEOUT_S)
        there.request(method, target, body, passed)
        answer = there.getresponse()
        return Answer(answer.status, answer.reason, answer.read())
    except ssl.SSLError as error:
        raise problem.Problem(596, str(error.reason or error)) from None
    except OSError as error:
        raise problem.Problem(595, error.strerror or "Connection timed out") from None
    finally:
        there.close()


def states(node: str) -> Dict[int, Dict[str, Any]]:
    """What another node says of its guests; nothing where it does not answer."""
    if not cluster.online(node):
        return {}
    ticket = authentication.ticket_of(access.ROOT_USER)
    target = f"/api2/json/nodes/{node}/lxc"
    try:
        answer = sent_on(node, "GET", target, {"Cookie": f"PVEAuthCookie={ticket}"}, None)
    except problem.Problem:
        return {}
    return by_vmid(json.loads(answer.body)["data"]) if answer.status == 200 else {}


def by_vmid(rows: List[Dict[str, Any]]) -> Dict[int, Dict[str, Any]]:
    """What /nodes/N/lxc tells of a guest's state, by VMID."""
    kept = ("status", "uptime", "cpu", "mem", "maxmem", "disk", "maxdisk", "netin", "netout")
    return {
        int(row["vmid"]): {
            **{name: row[name] for name in kept if name in row},
            "maxcpu": row.get("cpus", 0),
        }
        for row in rows
    }
