# SPDX-License-Identifier: Apache-2.0
"""A proxy between controllers and a real API server that does what networks and servers do on bad days.

    proxy = proxy.Proxy(api, judge)      # speaks HTTP/1.1 over TLS, with the API server's own certificate
    proxy = proxy.Cutter(api, seed)      # passes bytes, HTTP/2 too, and cuts connections after a random count of them

judge(call) is asked about each request, in the thread that serves it, and answers None or a Fault.
"""
import http.client
import http.server
import json
import random
import socket
import ssl
import threading
import urllib.parse

PATIENCE_S = 120
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "host"}


class Fault:
    """What happens to one request. `reaches` says whether the API server receives the request."""

    def __init__(self, name, status=0, reason="", reaches=False, ending="answer", length=0, headers=(), then=None):
        self.name, self.then = name, then  # then() is called once the API server has, or has not, got the request
        self.status, self.reason, self.headers = status, reason, dict(headers)
        self.reaches = reaches  # the API server gets the request
        self.ending = ending    # "answer", "cut" (after `length` bytes of the answer), or "silence"
        self.length = length

    def body(self):
        return json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                           "code": self.status, "reason": self.reason, "message": f"injected: {self.name}"}).encode()


FAULTS = {fault.name: fault for fault in (
    Fault("conflict", 409, "Conflict"),
    Fault("exists", 409, "AlreadyExists"),
    Fault("gone", 410, "Expired"),
    Fault("busy", 429, "TooManyRequests", headers={"Retry-After": "1"}),
    Fault("error", 500, "InternalError"),
    Fault("error-after", 500, "InternalError", reaches=True),
    Fault("away", 503, "ServiceUnavailable"),
    Fault("timeout-after", 504, "Timeout", reaches=True),
    Fault("cut-before", ending="cut"),
    Fault("cut-after", ending="cut", reaches=True),
    Fault("cut-inside", ending="cut", reaches=True, length=40),
    Fault("silence-before", ending="silence"),
    Fault("silence-after", ending="silence", reaches=True),
)}


class Call:
    """A request that passes by."""

    def __init__(self, method, target, body):
        self.method, self.target, self.body = method, target, body
        url = urllib.parse.urlsplit(target)
        self.path, self.query = url.path, urllib.parse.parse_qs(url.query)
        words = url.path.strip("/").split("/")
        self.namespace = words[words.index("namespaces") + 1] if "namespaces" in words[:-1] else ""
        self.watches = self.query.get("watch") == ["true"]

    def __str__(self):
        return f"{self.method} {self.path}{' watch' if self.watches else ''}"


class Proxy:
    """Attributes: url."""

    def __init__(self, api, judge):
        self.api, self.judge = api, judge
        self.upstreams = set()
        self.lock = threading.Lock()
        self.closed = threading.Event()
        self.context = ssl.create_default_context(cafile=api.ca)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.proxy = self
        self.server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.tls.load_cert_chain(api.folder / "apiserver.crt", api.folder / "apiserver.key")
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            upstreams = list(self.upstreams)
        for upstream in upstreams:
            shut(upstream.sock)

    def connect(self):
        upstream = http.client.HTTPSConnection("127.0.0.1", self.api.port, timeout=PATIENCE_S, context=self.context)
        upstream.connect()
        with self.lock:
            self.upstreams.add(upstream)
        return upstream

    def forget(self, upstream):
        with self.lock:
            self.upstreams.discard(upstream)
        upstream.close()


def shut(sock):
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except (OSError, AttributeError):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client that goes away, killed or not, is what this is for."""


class Cut(Exception):
    """The connection to the client ends here."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = None

    def setup(self):
        self.upstream = None
        self.request.settimeout(30)
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        self.request.settimeout(None)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()

    def finish(self):
        if self.upstream:
            self.server.proxy.forget(self.upstream)
        try:
            super().finish()
        except OSError:
            pass  # the client is gone
        self.request.close()

    def log_message(self, *_):
        pass

    def serve(self):
        length = int(self.headers.get("Content-Length", 0))
        call = Call(self.command, self.path, self.rfile.read(length) if length else None)
        try:
            fault = self.server.proxy.judge(call)
            if fault:
                self.misbehave(call, fault)
            else:
                self.answer(call, self.forward(call))
        except (Cut, OSError, http.client.HTTPException):
            self.close_connection = True
            shut(self.connection)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def misbehave(self, call, fault):
        answer = self.forward(call) if fault.reaches else None
        if answer and call.watches and fault.length:
            self.begin(answer)
            self.pass_on(answer.read1(fault.length))
            raise Cut
        # a watch has no end that could be waited for
        body = answer.read() if answer and not call.watches else b""
        if fault.then:
            fault.then()
        if fault.ending == "silence":
            self.wait_for_client()
        if fault.ending == "cut":
            if body and fault.length:
                self.begin(answer, length=len(body) + 1)
                self.wfile.write(body[:fault.length])
                self.wfile.flush()
            raise Cut
        self.send_response(fault.status)
        for name, value in {**fault.headers, "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        body = fault.body()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wait_for_client(self):
        """Say nothing until the client has had enough."""
        self.connection.settimeout(1)
        while not self.server.proxy.closed.is_set():
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
        raise Cut

    def forward(self, call):
        """-> the API server's answer, its head read"""
        if not self.upstream:
            self.upstream = self.server.proxy.connect()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP}
        try:
            self.upstream.request(call.method, call.target, call.body, headers)
            return self.upstream.getresponse()
        except (OSError, http.client.HTTPException):
            self.server.proxy.forget(self.upstream)
            self.upstream = None
            raise

    def begin(self, answer, length=None):
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def pass_on(self, data):
        """One chunk of a body."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def answer(self, call, answer):
        if not call.watches:
            body = answer.read()
            self.begin(answer, len(body))
            self.wfile.write(body)
            return
        self.begin(answer)
        while data := answer.read1(65536):
            self.pass_on(data)
        self.wfile.write(b"0\r\n\r\n")


class Cutter:
    """Bytes in, bytes out, until so many have come from the server; after `limit` cuts it has had enough."""

    def __init__(self, api, seed, limit):
        self.port, self.random, self.limit, self.cuts = api.port, random.Random(seed), limit, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.accept, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        shut(self.listener)
        self.listener.close()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            # small and large in equal shares: in the handshake, in a list, in a watch; the largest is a small part of
            # what one storm makes the server say
            length = int(10 ** self.random.uniform(2, 4.3))
            threading.Thread(target=self.serve, args=(client, length), daemon=True).start()

    def serve(self, client, length):
        with client:
            try:
                with socket.create_connection(("127.0.0.1", self.port)) as server:
                    back = threading.Thread(target=self.pump, args=(client, server, None), daemon=True)
                    back.start()
                    self.pump(server, client, length)
                    back.join()
            except OSError:
                pass

    def pump(self, source, sink, length):
        try:
            while data := source.recv(65536):
                if length is None or self.cuts >= self.limit:
                    sink.sendall(data)
                    continue
                sink.sendall(data[:length])
                length -= len(data)
                if length <= 0:
                    self.cuts += 1
                    break
        except OSError:
            pass
        shut(source)
        shut(sink)
