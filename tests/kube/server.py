#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""server.py [--h2 NGHTTPD] [--plain]: an HTTPS server on loopback that does what the path asks it to, faults included.

It prints one line of JSON, {"port": …, "dir": …}, and serves until its standard input ends. The folder holds ca.crt,
other.crt (an authority that signed nothing here), client.crt, client.key and proxy.log; it is removed at the end.
Paths:

  /echo                     what was asked, as JSON
  /status/CODE[?retry=TEXT] that status, with a Status as body and Retry-After
  /bytes/N                  N bytes
  /gzip/N                   N bytes, compressed when the client takes that
  /stream/N                 N lines as they come, then the end
  /hang/N                   N lines, then silence until the client goes
  /silent                   no answer at all until the client goes
  /cut/N                    promises 1000 bytes, sends N, closes
  /close                    closes without an answer
  /token/TEXT               200 for "Authorization: Bearer TEXT", else 401
  /count                    {"connections": …, "requests": …} so far; requests that came whole
  /certificate              the subject of the client's certificate

--h2: nghttpd serves files of that folder over HTTP/2 instead: /ok ("ok\\n"), /big (1 MiB). --plain: without TLS; it is
a proxy as well, which answers CONNECT and writes its target to proxy.log.
"""
import contextlib
import gzip
import http.server
import json
import os
import pathlib
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402

LINE = b'{"type":"BOOKMARK"}\n'


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_pki(folder):
    """Two authorities; the first signs a server and a client."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    for name in ("ca", "other"):
        openssl(folder, "req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
    for name, extra in (("server", "subjectAltName=IP:127.0.0.1,DNS:api.test"),
                        ("client", "extendedKeyUsage=clientAuth")):
        openssl(folder, "req", "-x509", "-CA", "ca.crt", "-CAkey", "ca.key", *key, "-keyout", f"{name}.key", "-out",
                f"{name}.crt", "-subj", f"/CN={name}", "-addext", extra, "-addext",
                "basicConstraints=critical,CA:FALSE")


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def setup(self):
        if self.server.context:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()
        self.server.connections += 1

    def answer(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wait_for_end(self):
        """Until the client closes."""
        with contextlib.suppress(OSError):
            while self.connection.recv(4096):
                pass
        self.close_connection = True

    def serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        if len(self.body) < length:
            self.close_connection = True
            return
        self.server.requests += 1
        word, _, rest = self.path.partition("?")[0].lstrip("/").partition("/")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
            getattr(self, "do_word_" + word, self.do_word_missing)(rest)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def do_word_missing(self, rest):
        self.answer(b"no such word", 404)

    def do_word_echo(self, rest):
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = {"method": self.command, "path": self.path, "headers": headers, "body": self.body.decode()}
        self.answer(json.dumps(reply).encode())

    def do_word_status(self, rest):
        retry = self.path.partition("retry=")[2].replace("+", " ")
        body = json.dumps({"kind": "Status", "code": int(rest)}).encode()
        self.answer(body, int(rest), [("Retry-After", retry)] if retry else [])

    def do_word_bytes(self, rest):
        self.answer(b"x" * int(rest))

    def do_word_gzip(self, rest):
        body = b"x" * int(rest)
        if "gzip" in (self.headers.get("Accept-Encoding") or ""):
            self.answer(gzip.compress(body), headers=[("Content-Encoding", "gzip")])
        else:
            self.answer(body)

    def start_stream(self, count):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(int(count)):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(LINE), LINE))
            self.wfile.flush()

    def do_word_stream(self, rest):
        self.start_stream(rest)
        self.wfile.write(b"0\r\n\r\n")

    def do_word_hang(self, rest):
        self.start_stream(rest)
        self.wait_for_end()

    def do_word_silent(self, rest):
        self.wait_for_end()

    def do_word_cut(self, rest):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"x" * int(rest))
        self.wfile.flush()
        self.close_connection = True

    def do_word_close(self, rest):
        self.close_connection = True

    def do_word_token(self, rest):
        good = self.headers.get("Authorization") == "Bearer " + rest
        self.answer(b"good" if good else b"bad", 200 if good else 401)

    def do_word_count(self, rest):
        self.answer(json.dumps({"connections": self.server.connections, "requests": self.server.requests}).encode())

    def do_word_certificate(self, rest):
        given = self.connection.getpeercert() or {}
        self.answer(",".join(f"{name}={value}" for pairs in given.get("subject", ()) for name, value in pairs).encode())

    def do_CONNECT(self):
        with open(os.path.join(self.server.folder, "proxy.log"), "a", encoding="utf-8") as log:
            log.write(self.path + "\n")
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as other:
            self.wfile.write(b"HTTP/1.1 200 go on\r\n\r\n")
            back = threading.Thread(target=self.copy, args=(other, self.connection), daemon=True)
            back.start()
            self.copy(self.connection, other)
        self.close_connection = True

    @staticmethod
    def copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """All connections."""

    daemon_threads = True
    connections = requests = 0
    context = None
    folder = ""

    def handle_error(self, request, client_address):
        pass  # a client that goes away is what is tested


def tls(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/server.crt", f"{folder}/server.key")
    context.load_verify_locations(f"{folder}/ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def announce(port, folder):
    print(json.dumps({"port": port, "dir": folder}), flush=True)
    sys.stdin.read()


def serve_h2(folder, program):
    with open(f"{folder}/ok", "w", encoding="utf-8") as out:
        out.write("ok\n")
    with open(f"{folder}/big", "wb") as out:
        out.write(b"x" * (1 << 20))
    port = free_port()
    words = [program, "-a", "127.0.0.1", "-d", folder, str(port), f"{folder}/server.key", f"{folder}/server.crt"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as child:
        while child.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
        announce(port, folder)
        child.terminate()


def main():
    folder = tempfile.mkdtemp(prefix="rh-server-")
    try:
        make_pki(folder)
        if "--h2" in sys.argv:
            serve_h2(folder, sys.argv[sys.argv.index("--h2") + 1])
            return
        server = Server(("127.0.0.1", 0), Handler)
        server.folder = folder
        server.context = None if "--plain" in sys.argv else tls(folder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        announce(server.server_address[1], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
