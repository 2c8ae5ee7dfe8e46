"""STAND-IN for a neighbour's inference server: two questions of OpenAI's interface, one answer.

Runs by the stand-in nvidia-smi's small Python, which has no http package.
"""

import json
import socket
import time

PORT = 8000
MODEL = "tenant-stand-in"


def answer(request: str) -> tuple[str, dict[str, object]]:
    """Status and document for a request, of which only the first line counts."""
    method, path = (*request.split(" "), "", "")[:2]
    if (method, path) == ("GET", "/v1/models"):
        return "200 OK", {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
    if (method, path) == ("POST", "/v1/chat/completions"):
        message = {"role": "assistant", "content": "still here"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        shared = {"object": "chat.completion", "model": MODEL, "created": int(time.time())}
        return "200 OK", {**shared, "choices": [choice], "usage": usage}
    return "404 Not Found", {"error": {"message": f"no {method} {path} here"}}


def read(connection: socket.socket) -> str:
    """The whole request, its body too, so that closing does not reset the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return data.decode(errors="replace")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if b"length:" in line]
    while lengths and len(body) < int(lengths[0]):
        more = connection.recv(65536)
        if not more:
            break
        body += more
    return head.decode(errors="replace")


def serve(connection: socket.socket) -> None:
    """Answer one request and close."""
    connection.settimeout(10)
    status, document = answer(read(connection))
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def main() -> None:
    """Answer one connection after the other, for ever."""
    listener = socket.create_server(("0.0.0.0", PORT))
    while True:
        connection, _address = listener.accept()
        with connection:
            try:
                serve(connection)
            except OSError:
                continue  # it hung up


if __name__ == "__main__":
    main()
