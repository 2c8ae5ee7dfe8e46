"""A server behind TLS that does what a test tells it, above all what no server should."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

Answer = bytes | None
"""What is sent; None: nothing for as long as the test takes; b"": the connection ends."""


def answer(body: str, status: str = "200 OK", more: str = "", length: int | None = None) -> bytes:
    data = body.encode()
    size = len(data) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{more}\r\n".encode() + data


class Scripted:
    """Answers one request after the other from `answers`; the last one stays."""

    def __init__(self, context: ssl.SSLContext | None, host: str = "127.0.0.1") -> None:
        self.answers: list[Answer] = []
        self.requests: list[str] = []
        self.connections = 0
        self.pause_s = 0.0
        """Before each byte of an answer."""
        self.host = host
        self._context = context
        self._over = threading.Event()
        self._listening = socket.create_server((host, 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._over.set()
        # What waits in accept is not woken by close alone.
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                raw, _ = self._listening.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(raw):
            if self._context is None:
                raw.sendall(self.answers[0] or b"")
                return
            link = self._context.wrap_socket(raw, server_side=True)
            with contextlib.closing(link), link.makefile("rb") as file:
                while self._answered(link, file):
                    pass

    def _answered(self, link: socket.socket, file: object) -> bool:
        lines = []
        while line := file.readline().decode("latin-1").rstrip():  # type: ignore[attr-defined]
            lines.append(line)
        if not lines:
            return False
        size = next((int(x[15:]) for x in lines if x.lower().startswith("content-length:")), 0)
        body = file.read(size).decode()  # type: ignore[attr-defined]
        self.requests.append("\n".join([*lines, body]))
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if given is None:
            self._over.wait(10)
        if not given:
            return False
        self._send(link, given)
        return b"Content-Length: 99999" not in given

    def _send(self, link: socket.socket, given: bytes) -> None:
        if not self.pause_s:
            link.sendall(given)
            return
        for byte in given:
            link.sendall(bytes([byte]))
            if self._over.wait(self.pause_s):
                return


@contextlib.contextmanager
def scripted(certificate: str | None, host: str = "127.0.0.1") -> Iterator[Scripted]:
    """With fakepve's certificate, which is of 127.0.0.1; without one it speaks in the clear."""
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, Path(certificate).with_suffix(".key"))
    server = Scripted(context, host)
    try:
        yield server
    finally:
        server.close()
