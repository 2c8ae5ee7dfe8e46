"""One output of a shell's commands: a pipe whose end can come, and come again."""

import os
from typing import Callable

from stoker.pct.agent.loop import Loop
from stoker.pct.agent.pipes import Intake, Outbox, pipe


class Output:
    """`path` is what the shell gets: it holds nothing open, and opens for writing on demand."""

    def __init__(self, loop: Loop, outbox: Outbox) -> None:
        read_end, self._keeper = pipe()
        # Also for a user in the container that root there became (`su`): it opens it by itself.
        os.fchmod(read_end, 0o622)
        self._again = "/proc/self/fd/%d" % read_end
        os.set_blocking(read_end, False)
        self.path = os.open(self._again, os.O_PATH | os.O_CLOEXEC)
        self._intake = Intake(loop, outbox, read_end)
        self.settled = True

    def open(self, take: Callable[[bytes], None], settled: Callable[[], None]) -> None:
        """A command begins: what it writes goes to `take`; `settled` when nobody writes later."""
        self.settled, self._intake.take = False, take

        def ended() -> None:
            # Ours again, or the selector would report the end over and over.
            self._keeper = os.open(self._again, os.O_WRONLY | os.O_CLOEXEC)
            self.settled = True
            settled()

        self._intake.ended = ended

    def settle(self) -> None:
        """The command ended: take what is there, and the end, now or when it comes."""
        os.close(self._keeper)
        self._keeper = -1
        if self._intake.drain():
            self._intake.ended()

    def forget(self) -> None:
        """Whoever still writes there must never wait."""
        if self._keeper >= 0:
            os.close(self._keeper)
        os.close(self.path)
        self._intake.to_nowhere()
