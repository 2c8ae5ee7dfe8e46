"""From a candidate that dies while it loads to a token of the server before: ours, and by hand."""

import contextlib
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException

from stoker.refused import Refused
from stoker.sandbox import state as instances
from tests.sandbox.dying import Ward

from . import ways
from .rows import Aim
from .ways import Way

OURS = "Stoker: noticed, explained, put back, followed to its token"
FLOOR = "by hand, all known before: cp, daemon-reload, systemctl restart"
LOAD_S = 2
LAST_WORDS = "Not enough memory"
_ABOVE_S = 5.0
_APART_S = 0.03
_UNIT = "sglang@0.service"
_BY_HAND = """
unit=/usr/local/lib/systemd/system/$1
cp $unit /root/before
sed -i 's/^.Service.$/&\\nEnvironment=STANDIN_MODE=die/' $unit
systemctl daemon-reload; systemctl restart $1
until [ "$(systemctl show -p SubState --value $1)" = auto-restart ]; do sleep 0.05; done
cp /root/before $unit
systemctl daemon-reload; systemctl reset-failed $1; systemctl restart $1
"""


def flag_set(**env: str) -> dict[str, object]:
    """Of the small server on GPU 0."""
    return {
        "name": "bench",
        "sglang": "0.5.12",
        "model": {"path": "/models/sandbox-tiny", "served_name": "tiny"},
        "placement": {"layout": "one-per-gpu", "gpus": [0]},
        "host": "0.0.0.0",
        "port": 30000,
        "env": {"STANDIN_LOAD_S": str(LOAD_S), **env},
        "status": {"state": "reported", "by": "bench", "machine": "none", "note": "stand-in"},
    }


@dataclass
class Watch:
    """Asks the server again and again while something is done."""

    url: str
    answered: list[tuple[float, bool]] = field(default_factory=list)
    """When (seconds since 1970), and whether a token came."""

    @contextlib.contextmanager
    def going_on(self) -> Iterator[None]:
        ended = threading.Event()
        thread = threading.Thread(target=self._loop, args=(ended,))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def back_at(self) -> float | None:
        """The first token after the last question that was not answered; None: none yet."""
        missed = max((when for when, came in self.answered if not came), default=0.0)
        return next((when for when, came in self.answered if came and when > missed), None)

    def _loop(self, ended: threading.Event) -> None:
        while not ended.wait(_APART_S):
            came = False
            with contextlib.suppress(OSError, ValueError, HTTPException):
                came = self._token()
            self.answered.append((time.time(), came))

    def _token(self) -> bool:
        asked = json.dumps({"model": "tiny", "messages": [], "max_tokens": 1}).encode()
        with urllib.request.urlopen(f"{self.url}/v1/chat/completions", asked, timeout=5) as answer:
            return bool(json.load(answer)["usage"]["completion_tokens"])


@dataclass(frozen=True)
class Bench:
    """A container with a server that serves."""

    ward: Ward
    url: str
    say: Callable[[str], None]

    def measured(self) -> list[Way]:
        """Each way in turn on the same server: of ours the slower run, by hand the faster."""
        runs = []
        for name, act in ((FLOOR, self._by_hand), (OURS, self._ours)) * 2:
            runs.append(Way(name, self._seconds(act)))
            self.say(f"    {name}: {runs[-1].seconds:.1f} s")
        ours = [way for way in runs if way.name == OURS]
        return [*ways.medians(ours), *ways.cheapest(way for way in runs if way.name == FLOOR)]

    def _seconds(self, act: Callable[[], None]) -> float:
        """From the candidate's last words to the token."""
        watch = Watch(self.url)
        with watch.going_on():
            act()
            until = time.monotonic() + 60
            while watch.back_at() is None or not watch.answered[-1][1]:
                if time.monotonic() > until:
                    raise Refused("cannot measure: the server before gave no token again")
                time.sleep(_APART_S)
        back = watch.back_at()
        assert back is not None
        return back - self._last_words()

    def _ours(self) -> None:
        run = self.ward.deploy(flag_set(STANDIN_MODE="die"))
        if run.rc != 1 or "answers again" not in run.text:
            raise Refused(f"cannot measure: the candidate was not rolled back:\n{run.text}")

    def _by_hand(self) -> None:
        self.ward.room.inside(f"set -- {_UNIT}\n{_BY_HAND}")

    def _last_words(self) -> float:
        shown = f"journalctl -q -u {_UNIT} -g '{LAST_WORDS}' -n 1 -o short-unix"
        return float(self.ward.room.inside(shown).split()[0])


def prepared(ward: Ward, instance: str, say: Callable[[str], None]) -> Bench:
    """A server serves, and has been proved."""
    say("a small server, deployed and proved")
    run = ward.deploy(flag_set())
    if run.rc != 0:
        raise Refused(f"cannot measure: the server did not come up:\n{run.text}")
    address = instances.load(instance).containers[0].address
    return Bench(ward, f"http://{address}:30000", say)


def aim(found: list[Way]) -> Aim:
    """Little is to be added to what restoring and loading take."""
    by_name = {way.name: way for way in found}
    what = "from a candidate's death to the server before, above a restore by hand"
    return ways.above(what, _ABOVE_S, by_name[OURS], by_name[FLOOR])
