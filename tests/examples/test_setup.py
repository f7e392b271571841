# SPDX-License-Identifier: Apache-2.0
"""examples/setup, with frameworks that need no download. usage: test_setup.py PROGRAM SOURCE"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]
PYTHON = "/usr/bin/python3"

JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: where}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - {name: pytorch, image: "example/empty:1", command: [python3, -c, "import sys; print('prefix', sys.prefix)"]}
"""


class Setup(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="roundhouse-setup-"))
        self.addCleanup(shutil.rmtree, folder)
        self.examples, self.environments = folder / "examples", folder / "env"
        self.examples.mkdir()
        shutil.copy(os.path.join(SOURCE, "examples", "setup"), self.examples)
        self.framework("empty", "# import: json\n")

    def framework(self, name, text):
        (self.examples / name).mkdir(exist_ok=True)
        (self.examples / name / "requirements.txt").write_text(text)

    def setup(self, *words, want=0):
        """Run it without any index; returns its output."""
        environment = os.environ | {"ROUNDHOUSE_ENV_DIR": str(self.environments), "PIP_NO_INDEX": "1",
                                    "PIP_FIND_LINKS": ""}
        done = subprocess.run([sys.executable, str(self.examples / "setup"), *words], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=environment, check=False)
        self.assertEqual(done.returncode, want, done.stdout)
        return done.stdout

    def made(self):
        return sorted(path for path in self.environments.glob("*-*") if path.is_dir())

    def mapping(self):
        return (self.environments / "roundhouse.ini").read_text()

    def test_makes_maps_and_runs(self):
        self.assertIn("empty: done", self.setup("empty"))
        (place,) = self.made()
        self.assertIn(f"\n[images]\nexample/empty:* = {place}\n", self.mapping())
        (self.examples / "job.yaml").write_text(JOB)
        done = subprocess.run([PROGRAM, "run", "--config", str(self.environments / "roundhouse.ini"),
                               str(self.examples / "job.yaml")],
                              text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"prefix {place}", done.stdout)

    def installed(self):
        """A copy of the program with these examples beside it, as an installation has them."""
        root = self.examples.parent / "usr"
        (root / "bin").mkdir(parents=True)
        shutil.copy(PROGRAM, root / "bin" / "roundhouse")
        shutil.copytree(pathlib.Path(PROGRAM).parents[1] / "libexec", root / "libexec")
        (root / "share" / "doc" / "roundhouse").mkdir(parents=True)
        shutil.move(self.examples, root / "share" / "doc" / "roundhouse" / "examples")
        self.examples = root / "share" / "doc" / "roundhouse" / "examples"
        return str(root / "bin" / "roundhouse")

    def run_setup(self, roundhouse, job, want):
        """`run --setup` of a job with an image of PyTorch's name."""
        path = self.examples.parent / "job.yaml"
        path.write_text(job)
        plugins = os.path.join(os.path.dirname(PROGRAM), "..", "lib", "roundhouse", "plugins")
        environment = os.environ | {"ROUNDHOUSE_ENV_DIR": str(self.environments), "PIP_NO_INDEX": "1",
                                    "PIP_FIND_LINKS": ""}
        done = subprocess.run([roundhouse, "run", "--no-keep", "--plugins", plugins, "--plugin-isolation", "none",
                               "--setup", str(path)],
                              text=True, capture_output=True, env=environment, check=False)
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        return done

    def test_run_makes_it(self):
        self.framework("pytorch", "# import: json\n")
        roundhouse, job = self.installed(), JOB.replace("example/empty:1", "docker.io/pytorch/pytorch:2.5")
        done = self.run_setup(roundhouse, job, 0)
        (place,) = self.made()
        self.assertIn("pytorch: making", done.stderr)
        self.assertIn(f"[images]\ndocker.io/pytorch/pytorch:2.5 = {place}\n", done.stderr)
        self.assertIn(f"prefix {place}", done.stdout)
        self.assertIn("pytorch: is there", self.run_setup(roundhouse, job, 0).stderr)
        # an image that says nothing is left alone, and so is the job
        self.assertNotIn("is to stand for it", self.run_setup(roundhouse, JOB.replace("example/empty", "team/train"),
                                                              0).stderr)
        self.framework("pytorch", "no-such-package-of-anybody==1.0\n")
        done = self.run_setup(roundhouse, job, 1)
        self.assertIn("option --setup: `examples/setup pytorch` failed; nothing was started", done.stderr)
        self.assertNotIn("prefix", done.stdout)
        shutil.rmtree(self.examples)
        self.examples.mkdir()
        self.assertIn("examples/setup is not installed beside this program", self.run_setup(roundhouse, job, 2).stderr)

    def test_made_once_and_again_when_its_packages_change(self):
        self.setup("empty")
        first = self.made()
        self.assertIn("empty: is there", self.setup("empty"))
        self.framework("empty", "# import: json\n# another remark\n")
        self.assertIn("empty: is there", self.setup("all"))
        self.assertEqual(self.made(), first)
        self.framework("empty", "no-such-package-of-anybody==1.0\n")
        self.assertIn("not made", self.setup("--list"))

    def test_what_an_interrupted_setup_left_is_made_anew(self):
        self.setup("empty")
        (place,) = self.made()
        (place / ".roundhouse-ready").unlink()
        (place / "left").touch()
        self.setup("empty")
        self.assertFalse((place / "left").exists())

    def test_one_that_fails_leaves_the_others_and_says_why(self):
        self.framework("absent", "no-such-package-of-anybody==1.0\n")
        output = self.setup("all", want=1)
        self.assertIn("pip could not install absent", output)
        self.assertIn("no-such-package-of-anybody", output)
        self.assertIn("not made: absent", output)
        self.assertIn("example/empty:*", self.mapping())
        self.assertNotIn("example/absent:*", self.mapping())
        self.assertIn("pip could not install", (self.environments / "absent.fault").read_text())

    def test_a_module_that_does_not_start_is_a_failure(self):
        self.framework("empty", "# import: json no_such_module\n")
        self.assertIn("no_such_module does not start", self.setup("empty", want=1))
        self.assertNotIn("example/empty:*", self.mapping())

    def test_one_that_sees_the_packages_of_the_system(self):
        self.setup("empty")
        (place,) = self.made()
        self.assertIn("include-system-site-packages = false", (place / "pyvenv.cfg").read_text())
        self.framework("empty", "# import: json\n# system: yes\n")
        self.setup("empty")
        (other,) = [made for made in self.made() if made != place]
        self.assertIn("include-system-site-packages = true", (other / "pyvenv.cfg").read_text())

    def test_what_is_needed_to_build_comes_first(self):
        self.framework("built", "# build: no-such-builder==1.0\n# environment: A=b C=d=e\n"
                       "no-such-package-of-anybody==1.0\n")
        output = self.setup("built", want=1)
        self.assertIn("no-such-builder", output)
        self.assertNotIn("no-such-package-of-anybody", output)

    def test_refuses_before_it_begins(self):
        self.framework("large", "# disk: 1000000000 GB\n")
        output = self.setup("large", want=1)
        self.assertIn("large needs 1e+09 GB", output)
        self.assertIn("ROUNDHOUSE_ENV_DIR", output)
        self.assertIn('no framework "tensor"; there are: empty, large', self.setup("tensor", want=1))
        self.assertIn("which framework? empty, large, or all", self.setup(want=2))
        self.assertIn("/no/python does not run", self.setup("--python", "/no/python", "empty", want=1))
        self.assertEqual(self.made(), [])

    def test_list(self):
        self.framework("large", "# download: 3 MB\n# disk: 4 GB\n")
        self.setup("empty")
        output = self.setup("--list").splitlines()
        self.assertRegex(output[0], r"empty +/.*/empty-[0-9a-f]{12}")
        self.assertRegex(output[1], r"large +not made \(3 MB to download, 4 GB of disk\)")


if subprocess.run([PYTHON, "-c", "import ensurepip"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
    print(f"SKIPPED: {PYTHON} cannot make environments; install python3-venv")
    sys.exit(77)
unittest.main(argv=sys.argv[:1], verbosity=2)
