"""A git server at https on loopback: git's own http-backend behind a name, a secret and a certificate."""

import base64
import http.server
import os
import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

SECRET = "s3c" + "ret-token"


class Handler(http.server.BaseHTTPRequestHandler):
    """Hands every request to `git http-backend`, if it carries the secret."""

    root = Path()
    redirect_to = ""
    wants_sign_in = True

    def answer(self) -> None:
        expected = "Basic " + base64.b64encode(f"ada:{SECRET}".encode()).decode()
        if self.redirect_to:
            self.send_response(301)
            self.send_header("Location", self.redirect_to + self.path)
            self.end_headers()
        elif self.wants_sign_in and self.headers.get("Authorization") != expected:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.run_backend()

    do_GET = do_POST = answer  # noqa: N815

    def run_backend(self) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "ada",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": str(self.root),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=self.body(), env=environment, capture_output=True, check=False
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        chunks: list[bytes] = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Return a certificate for 127.0.0.1 that nobody trusts yet, and its key."""
    certificate, key = folder / "certificate", folder / "server-key"
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
        *("-keyout", str(key), "-out", str(certificate)),
    ]
    subprocess.run(command, capture_output=True, check=True)
    return certificate, key


@contextmanager
def serving(
    root: Path, certificate: tuple[Path, Path], *, redirect_to: str = "", wants_sign_in: bool = True
) -> Generator[str]:
    """Serve the repositories below a folder and yield the address of the server."""
    settings = {"root": root, "redirect_to": redirect_to, "wants_sign_in": wants_sign_in}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Configured", (Handler,), settings))
    server.daemon_threads = False
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
