#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_manifests.py ROUNDHOUSE: what `roundhouse manifests` prints, and that conf/deploy says the same."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import support  # noqa: E402

ROUNDHOUSE = sys.argv.pop(1) if len(sys.argv) > 1 else "roundhouse"
VETERAN = os.environ.get("ROUNDHOUSE_TEST_VETERAN")
SOURCE = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = SOURCE / "conf" / "deploy"


DIGEST = "sha256:" + "0123456789abcdef" * 4
# Of the Helm chart: each of them, with a value that is not the default.
VALUES = {
    "image": {"digest": DIGEST}, "imagePullSecrets": [{"name": "pull"}], "nameOverride": "trainer",
    "serviceAccount": {"create": False, "name": "robot"}, "replicas": 3, "config": "[comm]\nbackend = auto\n",
    "extraArgs": ["--kube-api-qps=50"], "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:1"}],
    "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
    "podAnnotations": {"note": "x"}, "podLabels": {"team": "ml"}, "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}}, "priorityClassName": "high",
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
}


def manifests(*words):
    """-> the objects by kind and name"""
    done = subprocess.run([ROUNDHOUSE, "manifests", *words], capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    return by_name(yaml.load_all(done.stdout, yaml.CSafeLoader))


def by_name(objects):
    return {(o["kind"], o["metadata"]["name"]): o for o in objects if o}


def verbs(rules, resource):
    return {verb for rule in rules if resource in rule["resources"] for verb in rule["verbs"]}


class Manifests(unittest.TestCase):
    maxDiff = None

    def test_cluster_scope(self):
        objects = manifests()
        self.assertEqual(objects, manifests("--cluster-scope"))
        kinds = {kind for kind, _ in objects}
        self.assertEqual(kinds, {"CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole",
                                 "ClusterRoleBinding", "Role", "RoleBinding", "Service", "Deployment",
                                 "PodDisruptionBudget", "NetworkPolicy"})
        self.assertIn(("CustomResourceDefinition", "pytorchjobs.kubeflow.org"), objects)
        container = objects["Deployment", "roundhouse"]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["args"], ["controller", "--log-format=json"])
        self.assertNotIn("env", container)

    def test_network_policy(self):
        """The controller's pods are reached at the ports that serve something, by no other."""
        for words in ([], ["--namespaced"]):
            objects = manifests(*words)
            pods = objects["Deployment", "roundhouse"]["spec"]["template"]
            policy = objects["NetworkPolicy", "roundhouse"]["spec"]
            self.assertEqual(policy["podSelector"]["matchLabels"], pods["metadata"]["labels"])
            self.assertEqual(policy["policyTypes"], ["Ingress"])
            ports = [port["port"] for port in policy["ingress"][0]["ports"]]
            self.assertEqual(ports, [*(port["containerPort"] for port in pods["spec"]["containers"][0]["ports"]), 9443])
        self.assertNotIn(("NetworkPolicy", "roundhouse"), self.helm("networkPolicy.enabled=false"))

    def test_forms(self):
        """What nobody asks for, YAML by its name and JSON are the same objects."""
        wanted = manifests("--without-crds")
        self.assertEqual(manifests("--without-crds", "-o", "yaml"), wanted)
        done = subprocess.run([ROUNDHOUSE, "manifests", "--without-crds", "-o", "json"], capture_output=True, text=True,
                              timeout=180)
        self.assertEqual(by_name(json.loads(done.stdout)["items"]), wanted)

    def test_nothing_of_ours_is_left(self):
        for words in ([], ["--namespaced"], ["--service-monitor", "--gang-scheduler-name=volcano"]):
            text = json.dumps(list(manifests("--without-crds", *words).values()))
            self.assertNotIn("x-roundhouse", text)
            self.assertNotRegex(text, r"@[A-Z]+@")

    def test_security(self):
        """What the Pod Security Standard "restricted" asks for, and a root file system that cannot be written."""
        pod = manifests()["Deployment", "roundhouse"]["spec"]["template"]["spec"]
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        own = pod["containers"][0]["securityContext"]
        self.assertEqual(own, {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                               "capabilities": {"drop": ["ALL"]}})
        self.assertIn("memory", pod["containers"][0]["resources"]["limits"])

    def test_rights(self):
        rules = manifests()["ClusterRole", "roundhouse"]["rules"]
        self.assertEqual(verbs(rules, "pods"), {"create", "delete", "get", "list", "patch", "watch"})
        self.assertEqual(verbs(rules, "pytorchjobs"), {"delete", "get", "list", "patch", "watch"})
        self.assertEqual(verbs(rules, "events"), {"create", "patch"})
        self.assertEqual(verbs(rules, "configmaps"), {"create", "delete", "list", "update"})
        for never in ("secrets", "nodes", "podgroups", "leases", "*"):
            self.assertEqual(verbs(rules, never), set())
        self.assertFalse([rule for rule in rules if "*" in rule["verbs"] + rule["apiGroups"]])
        self.assertEqual(verbs(rules, "pods/log"), set())
        for source, wanted in (("status", set()), ("messages", set()), ("logs", {"get"})):
            objects = manifests(f"--first-fault={source}")
            self.assertEqual(verbs(objects["ClusterRole", "roundhouse"]["rules"], "pods/log"), wanted, source)
            pod = objects["Deployment", "roundhouse"]["spec"]["template"]["spec"]
            self.assertIn(f"--first-fault={source}", pod["containers"][0]["args"])
        self.assertEqual(verbs(rules, "pods/eviction"), set())
        rules = manifests("--first-fault=logs", "--evict-stalled")["ClusterRole", "roundhouse"]["rules"]
        self.assertEqual(verbs(rules, "pods/eviction"), {"create"})
        done = subprocess.run([ROUNDHOUSE, "manifests", "--evict-stalled"], capture_output=True, text=True, timeout=180)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("add --first-fault logs", done.stderr)
        rules = manifests("--gang-scheduler-name=volcano")["ClusterRole", "roundhouse"]["rules"]
        self.assertIn("scheduling.volcano.sh", [g for rule in rules if "podgroups" in rule["resources"]
                                                for g in rule["apiGroups"]])
        rules = manifests("--gang-scheduler-name=x")["ClusterRole", "roundhouse"]["rules"]
        self.assertIn("scheduling.x-k8s.io", [g for rule in rules if "podgroups" in rule["resources"]
                                              for g in rule["apiGroups"]])

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_rights_of_an_old_plugin(self):
        """It was to get and patch what it names; that is listed and updated now."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(VETERAN, f"{folder}/veteran.so")
            rules = manifests("--without-crds", f"--plugins={folder}")["ClusterRole", "roundhouse"]["rules"]
        self.assertIn({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}, rules)

    def test_rights_of_users(self):
        objects = manifests()
        self.assertEqual(verbs(objects["ClusterRole", "roundhouse-jobs-view"]["rules"], "tfjobs"),
                         {"get", "list", "watch"})
        edit = objects["ClusterRole", "roundhouse-jobs-edit"]["rules"]
        self.assertIn("create", verbs(edit, "tfjobs"))
        self.assertIn("patch", verbs(edit, "pytorchjobs/scale"))
        self.assertEqual(verbs(edit, "tfjobs/scale"), set())
        self.assertNotIn("patch", verbs(edit, "tfjobs/status"))

    def test_namespaced(self):
        objects = manifests("--namespaced", "--namespace=team", "--image=example.org/r:1")
        self.assertFalse([kind for kind, _ in objects if kind in ("ClusterRole", "ClusterRoleBinding", "Namespace")])
        self.assertEqual({o["metadata"].get("namespace") for (kind, _),
                          o in objects.items() if kind != "CustomResourceDefinition"},
                         {"team"})
        self.assertEqual(objects["Role", "roundhouse"]["rules"], manifests()["ClusterRole", "roundhouse"]["rules"])
        container = objects["Deployment", "roundhouse"]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], "example.org/r:1")
        self.assertEqual([e["name"] for e in container["env"]], ["KUBEFLOW_NAMESPACE"])

    def test_namespaces_of_others_are_left_alone(self):
        """To apply the objects must not relabel a namespace that was there, and to delete them must not delete it."""
        own = manifests("--namespace=roundhouse")["Namespace", "roundhouse"]
        self.assertEqual(own["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted")
        objects = manifests("--namespace=kubeflow")
        self.assertFalse([name for kind, name in objects if kind == "Namespace"])
        self.assertEqual(objects["Deployment", "roundhouse"]["metadata"]["namespace"], "kubeflow")

    def test_json(self):
        done = subprocess.run([ROUNDHOUSE, "manifests", "-o", "json"], capture_output=True, text=True, timeout=180)
        self.assertEqual(by_name(json.loads(done.stdout)["items"]), manifests())

    def test_refused(self):
        for words, expected in ((["--namespace", "Bad"], '--namespace: "Bad"'),
                                (["--namespace", "a: b"], '--namespace: "a: b"'),
                            (["--namespace", "-x"], '--namespace: "-x"'), (["--namespace", ""], '--namespace: ""'),
                            (["--image", "a b"], '--image: "a b"'), (["--image", ""], '--image: ""'),
                            (["--image", "UPPER/x"], '"UPPER" must be small letters'),
                                (["--image", "a:b:c"], '--image: "a:b:c"'),
                            (["--image", "a@sha256:12"], '"sha256:12" is not a digest'),
                                (["--output", "xml"], "none of yaml|json"),
                            (["--cluster-scope", "--namespaced"], "exclude each other"),
                            (["--gang-scheduler-name", "No Name"], "No Name"), (["x"], "too many operands")):
            done = subprocess.run([ROUNDHOUSE, "manifests", *words], capture_output=True, text=True, timeout=180)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn(expected, done.stderr)

    def test_folder_is_fresh(self):
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "deploy.py", "--check", ROUNDHOUSE],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def kustomize(self, overlay):
        programs = support.apiserver.assets()
        kubectl = programs / "kubectl" if programs else shutil.which("kubectl")
        if not kubectl:
            self.skipTest("no kubectl")
        done = subprocess.run([kubectl, "kustomize", DEPLOY / overlay], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return by_name(yaml.load_all(done.stdout, yaml.CSafeLoader))

    def test_kustomize(self):
        """Overlays that are written by hand say what the program prints for the same wish."""
        for overlay, words in (("base", []), ("overlays/namespaced", ["--namespaced", "--namespace=default"]),
                               ("overlays/volcano", ["--gang-scheduler-name=volcano"]),
                               ("overlays/coscheduling", ["--gang-scheduler-name=scheduler-plugins-scheduler"]),
                               ("overlays/prometheus", ["--service-monitor"]),
                               ("overlays/kubeflow", ["--namespace=kubeflow"])):
            with self.subTest(overlay=overlay):
                wanted = manifests(*words)
                self.assertEqual(self.sorted_rules(self.kustomize(overlay)), self.sorted_rules(wanted))

    def sorted_rules(self, objects):
        """The order of rules says nothing."""
        for object_ in objects.values():
            if "rules" in object_:
                object_["rules"].sort(key=json.dumps)
        return objects

    def template(self, *values, text=None):
        helm = shutil.which("helm") or str(support.apiserver.cache() / "bin" / "helm")
        if not os.access(helm, os.X_OK):
            self.skipTest("no helm: tests/cluster/assets.py helm builds it")
        return subprocess.run([helm, "template", "r", DEPLOY / "helm/roundhouse", "--namespace=team",
                               "--kube-version=1.34", *(f"--set={value}" for value in values),
                               *(["--values=-"] if text else [])],
                              input=text, capture_output=True, text=True, timeout=180)

    def helm(self, *values, text=None):
        """-> the chart's objects"""
        done = self.template(*values, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return by_name(yaml.load_all(done.stdout, yaml.CSafeLoader))

    def test_helm_refuses_mistakes(self):
        for value, expected in (("replica=3", "replica"), ("image.pullpolicy=Never", "pullpolicy"),
                                ("replicas=many", "integer"),
                            ("scope=everything", '"namespaced"'), ("image.digest=abcd", "sha256")):
            done = self.template(value)
            self.assertNotEqual(done.returncode, 0, value)
            self.assertIn(expected, done.stderr)

    def test_helm_schema_knows_every_value(self):
        """What the schema leaves out is refused, so it has to have all of values.yaml, and no more."""
        chart = DEPLOY / "helm" / "roundhouse"
        values = yaml.load((chart / "values.yaml").read_text(), yaml.CSafeLoader)
        schema = json.loads((chart / "values.schema.json").read_text())["properties"]
        self.assertEqual(set(schema) - {"global"}, set(values))
        for name, value in values.items():
            if "properties" in schema[name]:
                self.assertEqual(set(schema[name]["properties"]), set(value), name)

    def test_helm_values(self):
        """What users of charts expect to be able to say."""
        objects = self.helm(text=yaml.safe_dump(VALUES))
        self.assertFalse([name for kind, name in objects if kind != "CustomResourceDefinition"
                          and "roundhouse" in name], list(objects))
        self.assertNotIn(("ServiceAccount", "robot"), objects)
        self.assertEqual(objects["ClusterRoleBinding", "trainer"]["subjects"],
                         [{"kind": "ServiceAccount", "name": "robot", "namespace": "team"}])
        self.assertEqual(objects["ClusterRoleBinding", "trainer"]["roleRef"]["name"], "trainer")
        deployment = objects["Deployment", "trainer"]["spec"]
        template = deployment["template"]
        self.assertEqual(deployment["replicas"], 3)
        self.assertLessEqual(deployment["selector"]["matchLabels"].items(), template["metadata"]["labels"].items())
        self.assertEqual(objects["Service", "trainer"]["spec"]["selector"], deployment["selector"]["matchLabels"])
        self.assertEqual(template["metadata"]["labels"]["team"], "ml")
        self.assertEqual(template["metadata"]["annotations"]["note"], "x")
        pod = template["spec"]
        for key in ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints", "priorityClassName",
                    "imagePullSecrets"):
            self.assertEqual(pod[key], VALUES[key], key)
        self.assertEqual(pod["serviceAccountName"], "robot")
        container = pod["containers"][0]
        self.assertEqual(container["image"], f"localhost/roundhouse@{DIGEST}")
        self.assertEqual(container["resources"], VALUES["resources"])
        self.assertEqual(container["env"], VALUES["extraEnv"])
        self.assertEqual(container["args"][-1], "--kube-api-qps=50")
        self.assertEqual(container["volumeMounts"], [{"name": "config", "mountPath": "/etc/roundhouse",
                                                      "readOnly": True}])
        self.assertEqual(pod["volumes"], [{"name": "config", "configMap": {"name": "trainer-config"}}])
        self.assertEqual(objects["ConfigMap", "trainer-config"]["data"], {"roundhouse.ini": VALUES["config"]})
        again = self.helm(text=yaml.safe_dump({**VALUES, "config": "[comm]\nbackend = native\n"}))
        sums = {o["Deployment", "trainer"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
                for o in (objects, again)}
        self.assertEqual(len(sums), 2, "a new configuration starts the controller anew")

    def test_helm_account(self):
        account = self.helm(text="serviceAccount: {annotations: {a: b}}")["ServiceAccount", "roundhouse"]
        self.assertEqual(account["metadata"]["annotations"], {"a": "b"})
        self.assertIn(("ServiceAccount", "mine"), self.helm("serviceAccount.name=mine"))

    def test_controller_config(self):
        """The file stands in a ConfigMap, where the program finds it."""
        with tempfile.TemporaryDirectory() as folder:
            ini = pathlib.Path(folder, "mine.ini")
            ini.write_text("[comm]\nbackend = native\n")
            objects = manifests("--controller-config", str(ini))
            self.assertEqual(objects["ConfigMap", "roundhouse-config"]["data"], {"roundhouse.ini": ini.read_text()})
            pod = objects["Deployment", "roundhouse"]["spec"]["template"]["spec"]
            self.assertEqual(pod["volumes"], [{"name": "config", "configMap": {"name": "roundhouse-config"}}])
            self.assertEqual(pod["containers"][0]["volumeMounts"],
                             [{"name": "config", "mountPath": "/etc/roundhouse", "readOnly": True}])
            self.assertEqual(verbs(objects["ClusterRole", "roundhouse"]["rules"], "pods/log"), set())
            # rights follow from what the file says
            ini.write_text("[controller]\nfirst-fault = logs\n")
            rules = manifests("--controller-config", str(ini))["ClusterRole", "roundhouse"]["rules"]
            self.assertEqual(verbs(rules, "pods/log"), {"get"})
            rules = manifests("--controller-config", str(ini), "--first-fault=status")["ClusterRole", "roundhouse"]
            self.assertEqual(verbs(rules["rules"], "pods/log"), set())
            ini.write_text("[comm]\nbackend = x\n")
            done = subprocess.run([ROUNDHOUSE, "manifests", "--controller-config", ini], capture_output=True, text=True,
                                  timeout=180)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f'--controller-config: {ini}:2: backend: "x" is not a backend', done.stderr)

    def with_plugin(self):
        """-> words that add a plugin from an image of its own; its file is here for definitions and rights"""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        shutil.copy(VETERAN, f"{folder}/veteran.so")
        name = json.loads(subprocess.run([ROUNDHOUSE, "plugins", "list", "--plugins", folder, "-o", "json"], check=True,
                                         capture_output=True, text=True).stdout)
        name = next(row["name"] for row in name if row["file"].startswith(folder))
        return name, [f"--plugins={folder}", f"--plugin-image={name}=example.org/plugin:1"]

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_plugin_image(self):
        """An init container copies the plugin, with the controller's own security; the controller cannot change it."""
        name, words = self.with_plugin()
        pod = manifests(*words)["Deployment", "roundhouse"]["spec"]["template"]["spec"]
        (copy,), (controller,) = pod["initContainers"], pod["containers"]
        self.assertEqual((copy["name"], copy["image"]), (f"plugin-{name}", "example.org/plugin:1"))
        self.assertEqual(copy["securityContext"], controller["securityContext"])
        self.assertEqual(set(copy["resources"]), {"requests", "limits"})
        (written,), (read,) = copy["volumeMounts"], controller["volumeMounts"]
        self.assertEqual(read, {**written, "readOnly": True})
        self.assertEqual(copy["command"][-1], written["mountPath"])
        self.assertIn(f"--plugins={read['mountPath']}", controller["args"])
        self.assertEqual([volume["name"] for volume in pod["volumes"]], [read["name"]])

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_plugin_image_beside_a_configuration(self):
        _, words = self.with_plugin()
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as ini:
            pod = manifests(*words, "--controller-config", ini.name)["Deployment",
                                                                     "roundhouse"]["spec"]["template"]["spec"]
        names = sorted(volume["name"] for volume in pod["volumes"])
        self.assertEqual(names, ["config", "plugins"])
        self.assertEqual(sorted(mount["name"] for mount in pod["containers"][0]["volumeMounts"]), names)

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_helm_plugins(self):
        """The chart's values make what --plugin-image makes."""
        name, words = self.with_plugin()
        wanted = manifests("--namespace=team", *words)
        rules = [rule for rule in wanted["ClusterRole", "roundhouse"]["rules"]
                 if rule not in manifests()["ClusterRole", "roundhouse"]["rules"]]
        got = self.helm(text=yaml.safe_dump({"plugins": [{"name": name, "image": "example.org/plugin:1",
                                                          "rules": rules}]}))
        self.assertEqual(got["Deployment", "roundhouse"], wanted["Deployment", "roundhouse"])
        self.assertLessEqual({json.dumps(rule, sort_keys=True) for rule in rules},
                             {json.dumps(rule, sort_keys=True) for rule in got["ClusterRole", "roundhouse"]["rules"]})

    def mounted(self, objects):
        """-> a folder with what the controller's container finds in /etc/roundhouse"""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        pod = objects["Deployment", "roundhouse"]["spec"]["template"]["spec"]
        self.assertIn({"name": "config", "mountPath": "/etc/roundhouse", "readOnly": True},
                      pod["containers"][0]["volumeMounts"])
        volume = next(volume["configMap"] for volume in pod["volumes"] if volume["name"] == "config")
        data = objects["ConfigMap", volume["name"]]["data"]
        for item in volume.get("items", [{"key": key, "path": key} for key in data]):
            (folder / item["path"]).parent.mkdir(exist_ok=True)
            (folder / item["path"]).write_text(data[item["key"]])
        return folder

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_helm_checks_the_hash_of_a_plugin(self):
        """The chart's sha256 is in the allow-list that the controller reads: a file with another hash is not loaded."""
        name, (words, _) = self.with_plugin()
        right = hashlib.sha256(pathlib.Path(VETERAN).read_bytes()).hexdigest()
        for config in ("", "[comm]\nbackend = native\n"):
            for sha256, state in ((right, "ready"), ("0" * 64, "refused")):
                with self.subTest(config=config, state=state):
                    values = {"config": config, "plugins": [{"name": name, "image": "example.org/plugin:1",
                                                             "sha256": sha256},
                                                            {"name": "other", "image": "example.org/other:1"}]}
                    ini = self.mounted(self.helm(text=yaml.safe_dump(values))) / "roundhouse.ini"
                    done = subprocess.run([ROUNDHOUSE, "plugins", "list", words, "--config", ini, "-o", "json"],
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = {pathlib.Path(row["file"]).stem: row for row in json.loads(done.stdout)}
                    self.assertEqual(rows[name]["state"], state, rows[name]["reason"])
                    # a plugin of the controller's own image needs no hash
                    self.assertEqual(rows["pytorch"]["state"], "ready")
        self.assertIn("sha256", self.template(text=yaml.safe_dump({"plugins": [{**values["plugins"][0],
                                                                                "sha256": "abc"}]})).stderr)

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_helm_starts_anew_for_another_hash(self):
        sums = {self.helm(text=yaml.safe_dump({"plugins": [{"name": "x", "image": "a/b", "sha256": digit * 64}]}))
                ["Deployment", "roundhouse"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
                for digit in "12"}
        self.assertEqual(len(sums), 2)

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_kustomize_plugin(self):
        """The component with an image makes what --plugin-image makes, in every scope."""
        _, words = self.with_plugin()
        for base, scope in (("base", []), ("overlays/namespaced", ["--namespaced", "--namespace=default"])):
            with self.subTest(base=base), tempfile.TemporaryDirectory() as folder:
                resource, component = (os.path.relpath(DEPLOY / path, os.path.realpath(folder))
                                       for path in (base, "components/plugin-image"))
                pathlib.Path(folder, "kustomization.yaml").write_text(yaml.safe_dump({
                    "resources": [resource], "components": [component],
                    "images": [{"name": "plugin-image", "newName": "example.org/plugin", "newTag": "1"}]}))
                got = self.kustomize(folder)
                wanted = manifests(*words, *scope)["Deployment", "roundhouse"]
                wanted["spec"]["template"]["spec"]["initContainers"][0]["name"] = "plugin"
                self.assertEqual(got.pop(("Deployment", "roundhouse")), wanted)
                without = self.kustomize(base)
                del without["Deployment", "roundhouse"]
                self.assertEqual(got, without)

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_plugin(self):
        """What a plugin's file adds to an installed controller: together they are what is printed with the plugin at
        once."""
        _, (folder, _) = self.with_plugin()
        file = f"{folder.split('=')[1]}/veteran.so"
        for scope in ([], ["--namespaced", "--namespace=team"]):
            with self.subTest(scope=scope):
                base, whole, added = manifests(*scope), manifests(folder, *scope), manifests("--plugin", file, *scope)
                crds = {key for key in whole if key[0] == "CustomResourceDefinition"} - set(base)
                self.assertTrue(crds)
                self.assertEqual({key: added[key] for key in added if key[0] == "CustomResourceDefinition"},
                                 {key: whole[key] for key in crds})
                self.assertEqual(set(added) & set(base), set(), "nothing of the controller is changed")
                names = {name.split("-", 2)[2] for kind, name in set(added) - crds}
                plugin = min(names)
                pairs = [("roundhouse", plugin, scope and "Role" or "ClusterRole")]
                pairs += [] if scope else [(f"roundhouse-jobs-{verb}", f"{plugin}-{verb}", "ClusterRole")
                                           for verb in ("edit", "view")]
                for name, part, kind in pairs:
                    self.assertEqual(self.rights(base[kind, name], added[kind, f"roundhouse-plugin-{part}"]),
                                     self.rights(whole[kind, name]))
                bindings = [o for (kind, _), o in added.items() if kind.endswith("Binding")]
                self.assertEqual([o["subjects"] for o in bindings],
                                 [[{"kind": "ServiceAccount", "name": "roundhouse",
                                    "namespace": "team" if scope else "roundhouse"}]])
                self.assertEqual(bindings[0]["roleRef"]["name"], f"roundhouse-plugin-{plugin}")
                self.assertEqual(len(added), len(crds) + len(pairs) + 1)
        self.assertFalse([key for key in manifests("--plugin", file, "--without-crds") if key in crds])

    def rights(self, *roles):
        """-> every group, resource and verb that roles give"""
        return {(group, resource, verb) for role in roles for rule in role["rules"] for group in rule["apiGroups"]
                for resource in rule["resources"] for verb in rule["verbs"]}

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_plugin_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            broken = pathlib.Path(folder, "broken.so")
            broken.write_text("x")
            for words, status, expected in (([f"{folder}/none.so"], 2, f'--plugin: "{folder}/none.so": No such file'),
                                            ([broken], 1, f'--plugin: "{broken}": '),
                                            ([VETERAN, "--image=a/b"], 2, "leave out --image"),
                                            ([VETERAN, f"--plugins={folder}"], 2, "leave out --plugins")):
                done = subprocess.run([ROUNDHOUSE, "manifests", "--plugin", *words], capture_output=True, text=True,
                                      timeout=180)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertIn(expected, done.stderr)

    @unittest.skipUnless(VETERAN, "ROUNDHOUSE_TEST_VETERAN names no plugin")
    def test_plugin_image_refused(self):
        name, (folder, _) = self.with_plugin()
        for value, expected in (("dask", '"dask" must be NAME=IMAGE'), ("D_x=a/b", '"D_x" is not the name of a plugin'),
                                (f"{name}=a b", '"a b"'), (f"{name}=", '""'),
                                ("absent=a/b", 'plugin "absent" is not ready here')):
            done = subprocess.run([ROUNDHOUSE, "manifests", folder, "--plugin-image", value], capture_output=True,
                                  text=True, timeout=180)
            self.assertEqual((done.returncode, done.stdout), (2, ""), value)
            self.assertIn("--plugin-image", done.stderr)
            self.assertIn(expected, done.stderr)
        done = subprocess.run([ROUNDHOUSE, "manifests", folder,
                               *[f"--plugin-image={name}=a/{image}" for image in "bc"]],
                              capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has two images", done.stderr)

    def test_helm(self):
        for values, words in (([], []), (["scope=namespaced"], ["--namespaced"]),
                              (["firstFault=logs"], ["--first-fault=logs"]),
                              (["firstFault=logs", "evictStalled=true"], ["--first-fault=logs", "--evict-stalled"]),
                              (["gangSchedulerName=volcano", "serviceMonitor.enabled=true"],
                               ["--gang-scheduler-name=volcano", "--service-monitor"])):
            with self.subTest(values=values):
                wanted = manifests("--namespace=team", *words)
                got = self.helm(*values)
                for (kind, _), object_ in got.items():
                    if kind == "CustomResourceDefinition":
                        self.assertEqual(object_["metadata"].pop("annotations"), {"helm.sh/resource-policy": "keep"})
                self.assertEqual(self.sorted_rules(got), self.sorted_rules(wanted))


if __name__ == "__main__":
    unittest.main()
