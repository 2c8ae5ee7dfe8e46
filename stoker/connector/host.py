"""pyinfra's connector `@pct`: a Proxmox node, and LXC containers through it.

`@pct/pve1` is the node. `@pct/pve1/200` is its container 200; so is `@pct/gpu-a` with the data
`pct_host` (a name in the inventory, else an ssh host) and `pct_vmid`. pyinfra's `ssh_*` data say
how the node is reached: those of `pct_host` where it is in the inventory, else the host's own.

connect() reaches only the node. Before operations are executed, a command for a container that is
absent or stopped succeeds without output, so that facts take their defaults: an operation of the
same run may be the one that creates it. In execution it is an error.
"""

import io
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from pyinfra import logger
from pyinfra.api.command import QuoteString, StringCommand
from pyinfra.api.exceptions import ConnectError, InventoryError
from pyinfra.api.host import Host
from pyinfra.api.output import echo
from pyinfra.api.state import State
from pyinfra.api.util import get_file_io
from pyinfra.connectors.base import BaseConnector, DataMeta
from pyinfra.connectors.ssh import ConnectorData as SSHData
from pyinfra.connectors.ssh import connector_data_meta
from pyinfra.connectors.util import CommandOutput, make_unix_command_for_host

from stoker.connector import links, waiting
from stoker.connector.arguments import as_root, control, stdin_bytes, words
from stoker.connector.lines import Lines
from stoker.pct import errors, files
from stoker.pct.client import Node, OnOutput


class PctData(SSHData):
    """Host data of `@pct`: how the node is reached, and which container."""

    pct_host: str
    pct_vmid: int


class PctConnector(BaseConnector):
    """One host: a container, or a node itself (no `pct_vmid`)."""

    handles_execution = True
    data_cls = PctData
    data_meta: dict[str, DataMeta] = {  # noqa: RUF012 - as pyinfra declares it
        **connector_data_meta,
        "pct_host": DataMeta("Proxmox node: a name in the inventory, else an ssh host"),
        "pct_vmid": DataMeta("VMID of the container; absent: the node itself"),
    }

    def __init__(self, state: State, host: Host) -> None:
        super().__init__(state, host)
        self.vmid: int | None = self.data["pct_vmid"]
        self._known_link: links.Link | None = None

    @staticmethod
    def make_names_data(name: str | None) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """`pve1` -> host pve1; `pve1/200` -> host pve1/200, with its node and VMID as data."""
        node, _, vmid = (name or "").partition("/")
        if not node or (vmid and not vmid.isdigit()):
            raise InventoryError(
                f"cannot read the host @pct/{name or ''}: it is no node and no node/VMID; "
                "write @pct/pve1, @pct/pve1/200, or a name of your own with pct_host and pct_vmid"
            )
        if vmid:
            yield f"{node}/{vmid}", {"pct_host": node, "pct_vmid": int(vmid)}, []
        else:
            yield node, {}, []

    @property
    def node(self) -> Node:
        """The agent on the node, connected if it is not (again)."""
        return self._link.node(self.host.name)

    def connect(self) -> None:
        """Reach the node. Whether the container is there is not asked yet."""
        if self.vmid is not None and not self.data["pct_host"]:
            raise ConnectError(f"cannot reach CT {self.vmid}: pct_host is not set; name its node")
        try:
            _ = self.node
        except errors.PctError as error:
            raise ConnectError(str(error)) from error

    def hold(self) -> None:
        """Hold the container's lock until the run ends, also of one that is not there yet.

        Every command of an operation in a container takes it; this is for who changes it from
        outside. Raises Busy.
        """
        assert self.vmid is not None
        self.node.lock(self.vmid, links.who())

    def disconnect(self) -> None:
        """Leave the node; the last of its hosts ends the agent."""
        self._link.leave(self.host.name)

    def run_shell_command(
        self,
        command: StringCommand,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> tuple[bool, CommandOutput]:
        """Run it as root, in a clean environment, in root's home."""
        heed = control(arguments)
        if heed.get("_get_pty"):
            raise OSError("cannot give the command a terminal: @pct has none; leave out _get_pty")
        stdin = heed.get("_stdin")
        lines = Lines(print_output, self.host.print_prefix)
        unix = make_unix_command_for_host(self.state, self.host, command, **as_root(arguments))
        self._show(unix, print_input)
        code = self._run(
            unix,
            lines.take,
            heed.get("_timeout"),
            None if stdin is None else io.BytesIO(stdin_bytes(stdin)),
        )
        return code is None or code in (heed.get("_success_exit_codes") or (0,)), lines.end()

    def put_file(
        self,
        filename_or_io: Any,
        remote_filename: str,
        remote_temp_filename: str | None = None,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> bool:
        """Write a file at once and whole; new ones are 0600. As another user, by that user."""
        with get_file_io(filename_or_io) as file:
            if isinstance(file, io.TextIOBase):
                file = io.BytesIO(file.read().encode())
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            self._show(f"put {remote_filename} ({size} bytes)", print_input)
            asked = files.put_words(remote_filename, size)
            done = self._transfer(remote_filename, asked, arguments, stdin=file)
        if done and print_output:
            echo(f"{self.host.print_prefix}file uploaded: {remote_filename}", err=True)
        return done

    def get_file(
        self,
        remote_filename: str,
        filename_or_io: Any,
        remote_temp_filename: str | None = None,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> bool:
        """Fetch a file; a local file is replaced only by a whole one."""
        self._show(f"get {remote_filename}", print_input)
        asked = files.get_words(remote_filename)
        if not isinstance(filename_or_io, str):
            return self._transfer(remote_filename, asked, arguments, to=filename_or_io)
        target = Path(filename_or_io)
        part = target.with_name(f".{target.name}.part")
        try:
            with part.open("wb") as file:
                done = self._transfer(remote_filename, asked, arguments, to=file)
            if done:
                part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return done

    @property
    def _link(self) -> links.Link:
        if self._known_link is None:
            name = self.data["pct_host"] or self.host.name
            self._known_link = links.link(self.state, self.host, name)
        return self._known_link

    def _show(self, what: StringCommand | str, print_input: bool) -> None:
        logger.debug("Running command on %s: %s", self.host.name, what)
        if print_input:
            echo(f"{self.host.print_prefix}>>> {what}", err=True)

    def _run(
        self,
        unix: StringCommand,
        on_output: OnOutput,
        timeout: float | None,
        stdin: IO[bytes] | None,
    ) -> int | None:
        """Its exit code; None for a container that is not there yet and need not be."""
        executing = self.state.is_executing
        try:
            with waiting.told(self.host.log) if executing else nullcontext():
                return self.node.run(
                    words(unix),
                    vmid=self.vmid,
                    stdin=stdin,
                    timeout=timeout or None,
                    lock=links.who() if executing and self.vmid is not None else None,
                    on_output=on_output,
                ).code
        except (errors.NoSuchContainer, errors.Stopped):
            if executing:
                raise
            return None
        except errors.TimedOut as error:
            # pyinfra only says that it timed out; what would not die is in here.
            self.host.log_styled(str(error), fg="red", log_func=logger.error)
            raise

    def _transfer(
        self,
        path: str,
        asked: list[str],
        arguments: dict[str, Any],
        stdin: IO[bytes] | None = None,
        to: IO[bytes] | None = None,
    ) -> bool:
        said = bytearray()

        def take(name: str, data: bytes) -> None:
            if name == "stdout" and to is not None:
                to.write(data)
            else:
                said.extend(data)

        timeout = control(arguments).get("_timeout")
        command = StringCommand(*map(QuoteString, asked))
        unix = make_unix_command_for_host(self.state, self.host, command, **as_root(arguments))
        code = self._run(unix, take, timeout, stdin)
        if code != 0:
            because = said.decode("utf-8", "replace").strip() or "the container is not there yet"
            self.host.log_styled(
                f"cannot {'put' if to is None else 'get'} {path}: {because}; nothing was changed",
                fg="red",
                log_func=logger.error,
            )
        return code == 0
