#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_logs.py ROUNDHOUSE JAX_DIR: the first fault by the output of failed containers, on a real API server, with the
rights that `roundhouse manifests` grants. A server here stands for the kubelet that has the logs."""
import datetime
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import case  # noqa: E402
from case import Case, job  # noqa: E402
from support import apiserver, wait_for  # noqa: E402

VICTIM = "step 7\nRuntimeError: Connection closed by peer [127.0.0.1]:4711\n"
CAUSE = ('Traceback (most recent call last):\n  File "/train.py", line 7, in <module>\n'
         '    raise ValueError("bad batch")\nValueError: bad batch\n')
UNKNOWN = "its output is unknown, so a peer may be the cause"
NODE = "n"
WAITS = ("rh_comm: rank 0 has waited 12 s in number 3, barrier; it waited for rank 1 at 10.0.0.1 (has not posted "
         "it)\n")
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


class Kubelet(http.server.ThreadingHTTPServer):
    """The part of a kubelet that an API server asks for logs. Attributes: logs, {pod: bytes}; asked, pods; answers, an
    Event that they wait for; port."""
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.logs, self.asked, self.answers = {}, [], threading.Event()
        self.answers.set()
        authority = apiserver.Authority(folder)
        authority.issue("kubelet", "/CN=kubelet", "IP:127.0.0.1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "kubelet.crt", folder / "kubelet.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.answers.set()
        self.shutdown()
        self.server_close()

    def tail(self, pod, lines, limit):
        """As a kubelet: the last lines, and of these the first bytes."""
        return b"".join(self.logs[pod].splitlines(keepends=True)[-lines:])[:limit]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        _, what, _, pod, _ = url.path.split("/")
        self.server.asked.append(pod)
        self.server.answers.wait()
        found = what == "containerLogs" and pod in self.server.logs
        body = self.server.tail(pod, int(query["tailLines"]), int(query["limitBytes"])) if found else b"no such log"
        try:
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # who asked has gone

    def log_message(self, *_):
        pass


def granted(*words):
    """What `roundhouse manifests` gives the controller."""
    done = subprocess.run([case.ROUNDHOUSE, "manifests", "--plugins", case.JAX, "--without-crds", "-o", "json", *words],
                          check=True, capture_output=True, text=True)
    return next(item for item in json.loads(done.stdout)["items"]
                if (item["kind"], item["metadata"]["name"]) == ("ClusterRole", "roundhouse"))["rules"]


class Logs(Case):
    options = {"audit": True}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kubelet = Kubelet(cls.folder)
        cls.addClassCleanup(cls.kubelet.close)
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
        status = {"status": {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                             "daemonEndpoints": {"kubeletEndpoint": {"Port": cls.kubelet.port}}}}
        cls.api.request("POST", "/api/v1/nodes", json.dumps(node))
        code, text = cls.api.request("PATCH", f"/api/v1/nodes/{NODE}/status", json.dumps(status),
                                     "application/merge-patch+json")
        assert code == 200, text

    def setUp(self):
        self.kubelet.logs.clear()
        self.kubelet.asked.clear()
        self.api.forget_audit()

    def limited(self, rules, *flags):
        self.grant(rules)
        return self.controller("--leader-elect=false", *flags, kubeconfig=self.api.kubeconfig_of("limited"),
                               name=self.id().rsplit(".", 1)[1])

    def start(self, name, workers=2, annotations=None, **container):
        """A job whose pods are on the node, and run."""
        body = job(name, workers=workers)
        body["metadata"]["annotations"] = annotations or {}
        worker = body["spec"]["pytorchReplicaSpecs"]["Worker"]
        worker["restartPolicy"] = "Never"
        worker["template"]["spec"]["containers"][0].update(container)
        self.create(body)
        self.addCleanup(self.drop_job, name)
        wait_for("pods", lambda: len(self.pods(name)) == workers)
        for pod in self.pods(name):
            place = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"]},
                     "target": {"kind": "Node", "name": NODE}}
            status, answer = self.request(
                "POST", f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/binding", place)
            self.assertEqual(status, 201, answer)
        pods = {pod["metadata"]["name"]: pod for pod in self.pods(name)}
        for pod in pods.values():
            self.set_phase(pod, "Running")
        wait_for("it runs", lambda: self.conditions(name).get("Running") == "True")
        return pods

    def fail_pod(self, name):
        """As a kubelet that has no message."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"phase": "Failed", "containerStatuses": [
            {"name": "pytorch", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
             "state": {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}}}]}
        code, answer = self.request("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", {"status": status},
                                    "application/merge-patch+json")
        self.assertEqual(code, 200, answer)

    def failed(self, name):
        def message():
            _, body = self.request("GET", self.path("pytorchjobs", name=name))
            return next((c["message"] for c in body["status"]["conditions"] if c["type"] == "Failed"), None)
        return wait_for(f"{name} has failed", message)

    def log_requests(self):
        """-> the answers to the controller's requests for logs"""
        return [e["responseStatus"]["code"] for e in self.api.audit_events()
                if e.get("objectRef", {}).get("subresource") == "log" and e["stage"] == "ResponseComplete"]

    def test_granted(self):
        self.kubelet.logs.update({"j-worker-0": VICTIM.encode(), "j-worker-1": CAUSE.encode()})
        with self.limited(granted("--first-fault=logs"), "--first-fault=logs"):
            self.start("j")
            # the victim is seen first
            self.fail_pod("j-worker-0")
            wait_for("its log is read", lambda: "j-worker-0" in self.kubelet.asked)
            self.assertNotIn("Failed", self.conditions("j"))  # a peer runs, which may show the cause
            self.fail_pod("j-worker-1")
            message = self.failed("j")
            self.assertIn("First fault: Worker-1 (pod j-worker-1, container pytorch, node n) exited with code 1 at",
                          message)
            self.assertIn("; last line: ValueError: bad batch", message)
        _, body = self.request("GET", self.path("pytorchjobs", name="j"))
        self.assertIn('raise ValueError(', body["metadata"]["annotations"]["roundhouse.dev/ledger"])
        self.assertEqual(self.log_requests(), [200, 200])

    def test_any_output(self):
        """More than an answer has, in long lines and bytes that are no text."""
        noise = bytes(range(256)) * 8
        self.kubelet.logs["long-worker-0"] = (noise.replace(b"\n", b"") + b"\n") * 300 + CAUSE.encode()
        with self.limited(granted("--first-fault=logs"), "--first-fault=logs"):
            self.start("long", 1)
            self.fail_pod("long-worker-0")
            self.assertIn("; last line: ValueError: bad batch", self.failed("long"))

    def test_refused(self):
        """With the rights of V1 one request is refused, and the job ends as it does without."""
        with self.limited(granted(), "--first-fault=logs") as controller:
            for pod in self.start("no"):
                self.fail_pod(pod)
            self.assertIn("First fault: ", message := self.failed("no"))
            self.assertTrue(UNKNOWN in message or "failed alike" in message, message)
            self.start("again", 1)
            self.fail_pod("again-worker-0")
            self.failed("again")
            controller.assert_alive()
        self.assertEqual(self.log_requests(), [403])
        self.assertEqual(self.kubelet.asked, [])

    def test_not_wanted(self):
        self.kubelet.logs["quiet-worker-0"] = CAUSE.encode()
        with self.limited(granted("--first-fault=logs")):
            self.start("quiet", 1)
            self.fail_pod("quiet-worker-0")
            self.assertIn("exited with code 1", self.failed("quiet"))
        self.assertEqual(self.log_requests(), [])

    def test_silent_node(self):
        """It is asked, and does not answer: other jobs go on, and the job is judged without it."""
        self.kubelet.answers.clear()
        self.addCleanup(self.kubelet.answers.set)
        with self.limited(granted("--first-fault=logs"), "--first-fault=logs"):
            self.start("mute", 1)
            self.fail_pod("mute-worker-0")
            wait_for("its log is asked for", lambda: self.kubelet.asked)
            self.set_phase(self.start("other", 1)["other-worker-0"], "Succeeded")
            wait_for("the other job succeeds", lambda: self.conditions("other").get("Succeeded") == "True")
            self.assertIn("exited with code 1", self.failed("mute"))

    def test_stalls(self):
        """The log of rank 0 says for whom ranks wait. It is read of the job that asks for it."""
        report = "rank 1 has waited 12 s in number 3, barrier; it waited for rank 2 at node-b (has not posted it)"
        self.kubelet.logs.update({f"{name}-worker-0": f"step 7\nrh_comm: {report}\n".encode() for name in ("s", "t")})
        with self.limited(granted("--first-fault=logs"), "--first-fault=logs"):
            self.start("t")
            self.start("s", annotations={"roundhouse.dev/stalls": "report"})
            wait_for("s is stalled", lambda: self.conditions("s").get("Stalled") == "True")
            _, body = self.request("GET", self.path("pytorchjobs", name="s"))
            stalled = next(c for c in body["status"]["conditions"] if c["type"] == "Stalled")
            self.assertEqual((stalled["reason"], stalled["message"]),
                             ("PyTorchJobRankMissing", "PyTorchJob s: " + report))
            for pod in self.pods("s"):
                self.set_phase(pod, "Succeeded")
            wait_for("s succeeds", lambda: self.conditions("s").get("Succeeded") == "True")
            wait_for("it is not stalled any more", lambda: "Stalled" not in self.conditions("s"))
        self.assertEqual(set(self.kubelet.asked), {"s-worker-0"})

    def place(self, name):
        """As a kubelet: the pods of the job have addresses, and are ready. Their log says that one does not come."""
        for index in range(2):
            status = {"podIP": f"10.0.0.{index}", "podIPs": [{"ip": f"10.0.0.{index}"}],
                      "conditions": [{"type": "Ready", "status": "True"}]}
            code, answer = self.request("PATCH", f"/api/v1/namespaces/default/pods/{name}-worker-{index}/status",
                                        {"status": status}, "application/merge-patch+json")
            self.assertEqual(code, 200, answer)
        self.kubelet.logs[f"{name}-worker-0"] = WAITS.encode()

    def budget(self, name, allowed):
        """A PodDisruptionBudget of the job's pods. No controller of budgets runs here: the status is given."""
        body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": {
            "minAvailable": 2, "selector": {"matchLabels": {"training.kubeflow.org/job-name": name}}}}
        self.request("POST", BUDGETS, body)
        self.addCleanup(self.request, "DELETE", f"{BUDGETS}/{name}")
        status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2,
                  "expectedPods": 2}
        code, answer = self.request("PATCH", f"{BUDGETS}/{name}/status", {"status": status},
                                    "application/merge-patch+json")
        self.assertEqual(code, 200, answer)

    def stalled(self, name):
        """-> the message of the condition Stalled, or None"""
        _, body = self.request("GET", self.path("pytorchjobs", name=name))
        return next((c["message"] for c in body["status"]["conditions"] if c["type"] == "Stalled"), None)

    def events(self, name, reason):
        return [e["message"] for e in self.items("v1", "events")
                if (e["involvedObject"]["name"], e["reason"]) == (name, reason)]

    def ledger(self, name):
        _, body = self.request("GET", self.path("pytorchjobs", name=name))
        return body["metadata"]["annotations"].get("roundhouse.dev/ledger", "")

    def pod(self, name):
        return self.request("GET", f"/api/v1/namespaces/default/pods/{name}")[1]

    def test_evicts(self):
        """The pod of a rank that does not come is evicted when its budget allows it, unless the ranks go on before."""
        self.kubelet.logs.update({f"{name}-worker-0": b"step 7\n" for name in ("e", "g")})
        asks = {"roundhouse.dev/stalls": "evict", "roundhouse.dev/stalls-after": "0s"}
        with self.limited(granted("--first-fault=logs", "--evict-stalled"), "--first-fault=logs"):
            uids = {}
            for name in ("e", "g"):
                uids[name] = self.start(name, annotations=asks)[f"{name}-worker-1"]["metadata"]["uid"]
                self.budget(name, 0)
                self.place(name)
            for name in ("e", "g"):
                wait_for(f"{name} is refused", lambda: "its pod is not evicted" in (self.stalled(name) or ""))
                self.assertIn(f"The disruption budget {name} needs 2 healthy pods", self.stalled(name))
                self.assertIn("stalled/Worker-1", self.ledger(name))
                wait_for("the Event", lambda: self.events(name, "FailedEvictPod"))
                self.assertNotIn("deletionTimestamp", self.pod(f"{name}-worker-1")["metadata"])
            self.kubelet.logs["g-worker-0"] = (WAITS + "rh_comm: ranks go on\n").encode()
            self.budget("e", 1)
            wait_for("e-worker-1 is evicted", lambda: "deletionTimestamp" in self.pod("e-worker-1")["metadata"])
            wait_for("the ranks of g go on", lambda: not self.stalled("g"))
            self.budget("g", 1)
            wait_for("its end is counted", lambda: '"stalled":1' in self.ledger("e"))
            self.request("DELETE", "/api/v1/namespaces/default/pods/e-worker-1?gracePeriodSeconds=0")
            wait_for("it is made again", lambda: self.pod("e-worker-1").get("metadata", {}).get("uid") not in
                     (None, uids["e"]))
            wait_for("the Event", lambda: self.events("e", "SuccessfulEvictPod"))
            wait_for("the eviction is cancelled", lambda: "stalled" not in self.ledger("g"))
            self.assertEqual(self.pod("g-worker-1")["metadata"]["uid"], uids["g"])
            self.assertNotIn("deletionTimestamp", self.pod("g-worker-1")["metadata"])

    def test_evicts_without_the_right(self):
        """The condition says which one is missing."""
        self.kubelet.logs["r-worker-0"] = b"step 7\n"
        asks = {"roundhouse.dev/stalls": "evict", "roundhouse.dev/stalls-after": "0s"}
        with self.limited(granted("--first-fault=logs"), "--first-fault=logs"):
            self.start("r", annotations=asks)
            self.place("r")
            wait_for("r is refused", lambda: "its pod is not evicted" in (self.stalled("r") or ""))
            self.assertIn('add to the role of its service account: {apiGroups: [""], resources: [pods/eviction], '
                          'verbs: [create]}', self.stalled("r"))
            self.assertNotIn("deletionTimestamp", self.pod("r-worker-1")["metadata"])

    def test_messages(self):
        """The kubelet is to show the end of the output, where the job does not say otherwise."""
        def policy(pods):
            return [pod["spec"]["containers"][0]["terminationMessagePolicy"] for pod in pods.values()]

        with self.limited(granted("--first-fault=messages"), "--first-fault=messages"):
            self.assertEqual(policy(self.start("shown", 1)), ["FallbackToLogsOnError"])
            self.assertEqual(policy(self.start("own", 1, terminationMessagePolicy="File")), ["File"])
        with self.limited(granted()):
            self.assertEqual(policy(self.start("plain", 1)), ["File"])
        self.assertEqual(self.log_requests(), [])


if __name__ == "__main__":
    case.main()
