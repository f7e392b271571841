# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, over the pipe of its DevTools protocol; nothing but Python and the browser is needed."""
import base64
import contextlib
import fcntl
import glob
import json
import os
import shutil
import subprocess
import tempfile
import threading

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell")
CACHE = "~/.cache/ms-playwright/chromium*/*/"


def find():
    """The browser's path, or None. ROUNDHOUSE_CHROMIUM names one that is elsewhere."""
    for name in (os.environ.get("ROUNDHOUSE_CHROMIUM"), *NAMES):
        if name and shutil.which(name):
            return shutil.which(name)
    found = [path for name in ("chrome", "headless_shell") for path in glob.glob(os.path.expanduser(CACHE + name))]
    return found[0] if found else None


class Page:
    """One page: evaluate() in it; `problems` are errors of its script and console, `requests` what it asked for."""

    def __init__(self, browser, url, limit):
        self.problems, self.requests = [], []
        self._number = 0
        self._profile = tempfile.TemporaryDirectory()
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        # Chromium reads orders from descriptor 3 and writes answers to 4
        passed = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (orders, answers)]
        words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank"]
        self._child = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{passed[0]} 4>&{passed[1]}', "bash", *words],
                                       pass_fds=passed, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        for fd in (orders, answers, *passed):
            os.close(fd)
        self._timer = threading.Timer(limit, self._child.kill)  # a browser that hangs ends the pipe
        self._timer.start()
        self._read = os.fdopen(self._answers, "rb")
        self._rest = b""
        self._session = None
        target = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self._loaded = False
        self._call("Page.navigate", url=url)
        while not self._loaded:
            self._take(self._message())

    def _message(self):
        while b"\0" not in self._rest:
            more = self._read.read1(65536)
            if not more:
                raise AssertionError("the browser ended, or took too long")
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def _take(self, message):
        method, params = message.get("method"), message.get("params")
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" or (method == "Log.entryAdded"
                                                      and params["entry"]["level"] in ("error", "warning")):
            self.problems.append(params)
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def _call(self, method, **params):
        self._number += 1
        order = {"id": self._number, "method": method, "params": params}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._orders, json.dumps(order).encode() + b"\0")
        while (message := self._message()).get("id") != self._number:
            self._take(message)
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        return message["result"]

    def evaluate(self, text):
        """The value of an expression; of a promise, what it becomes."""
        done = self._call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{text}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def look(self, width, height, scheme="light"):
        """Lay the page out for a window of this size and with the user's colours "light" or "dark"."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        # resize events come with a frame
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def screenshot(self):
        """What the window shows, a PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def close(self):
        """End the browser."""
        self._timer.cancel()
        self._child.kill()
        self._child.wait()
        os.close(self._orders)
        self._read.close()
        with contextlib.suppress(OSError):
            self._profile.cleanup()
