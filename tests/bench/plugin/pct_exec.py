"""The baseline: pyinfra over ssh to the node, one `pct exec` a command, as `@dockerssh` does it.

pyinfra finds connectors only through the metadata of installed packages; the folder beside this
file is that metadata, so that the search path alone installs it.
"""

import socket
from collections.abc import Iterator
from io import BytesIO
from typing import IO, Any

from pyinfra.api import QuoteString, StringCommand
from pyinfra.api.util import get_file_io
from pyinfra.connectors.ssh import SSHConnector
from pyinfra.connectors.util import (
    CommandOutput,
    extract_control_arguments,
    make_unix_command_for_host,
)


class PctExecConnector(SSHConnector):
    """`@pct-exec/NAME` with the data of `@ssh` and `pct_vmid`.

    TCP_NODELAY is set: the 40 ms that pyinfra's own ssh loses a command are not pct's fault.
    """

    @staticmethod
    def make_names_data(name: str) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """One host of that name; everything else is its host data."""
        yield name, {}, []

    def connect(self) -> None:
        """Connect to the node, one connection a container."""
        super().connect()
        assert self.client is not None
        transport = self.client.get_transport()
        assert transport is not None and isinstance(transport.sock, socket.socket)
        transport.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _on_node(self, *words: str | QuoteString, **arguments: Any) -> tuple[bool, CommandOutput]:
        return super().run_shell_command(StringCommand(*words), **arguments)

    def run_shell_command(
        self,
        command: StringCommand,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> tuple[bool, CommandOutput]:
        """Run it in the container by a `pct exec` of its own."""
        control = extract_control_arguments(arguments)  # type: ignore[arg-type]
        unix = make_unix_command_for_host(self.state, self.host, command, **arguments)
        vmid = str(self.host.data.pct_vmid)
        attach = ("pct", "exec", vmid, "--keep-env", "0", "--", "sh", "-c")
        return self._on_node(
            *attach,
            QuoteString(unix),
            print_output=print_output,
            print_input=print_input,
            **control,
        )

    def put_file(  # type: ignore[override]  # as @dockerssh: sudo and the like do not apply
        self,
        filename_or_io: str | IO[Any],
        remote_filename: str,
        remote_temp_filename: str | None = None,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> bool:
        """Upload to the node, `pct push` into the container, remove from the node."""
        with get_file_io(filename_or_io) as source:
            content = source.read()
        content = content.encode() if isinstance(content, str) else content
        staged = f"{self.host.get_temp_filename(remote_filename)}-{self.host.data.pct_vmid}"
        super().put_file(BytesIO(content), staged)
        try:
            done, output = self._on_node(
                *("pct", "push", str(self.host.data.pct_vmid)),
                *(QuoteString(staged), QuoteString(remote_filename)),
            )
        finally:
            self._on_node("rm", "-f", QuoteString(staged))
        if not done or output.stderr:  # `pct push` exits 0 when the copy failed.
            raise OSError(output.stderr)
        return True
