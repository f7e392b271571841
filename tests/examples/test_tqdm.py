# SPDX-License-Identifier: Apache-2.0
"""A training of PyTorch 2 with the real tqdm, at a terminal. usage: test_tqdm.py PROGRAM SOURCE"""
import os
import pathlib
import re
import sys
import tempfile

import kit

sys.path.insert(0, os.path.join(kit.SOURCE, "tests", "cli"))
from terminal import Talk  # noqa: E402

CONFIG = kit.configuration("pytorch")
# Two ranks, two epochs of 40 batches with a bar each. In the second epoch they wait until the terminal has shown them.
TRAINING = """import os, sys, time
import torch
import torch.distributed as dist
from tqdm import tqdm

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
torch.manual_seed(dist.get_rank())
weights = torch.arange(8.0).unsqueeze(1)
for epoch in range(1, 3):
    print(f"epoch {epoch}/2", flush=True)
    bar = tqdm(range(40), desc="train", mininterval=0)
    for batch in bar:
        x = torch.randn(32, 8)
        loss = torch.nn.functional.mse_loss(model(x), x @ weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")
        while epoch == 2 and batch == 20 and not os.path.exists(sys.argv[1]):
            time.sleep(0.02)
print(f"final loss {loss.item():.3f}", flush=True)
dist.destroy_process_group()
"""
JOB = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: bars}}
spec:
  pytorchReplicaSpecs:
    Master: &replica
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: pytorch
            image: example/pytorch:1
            command: [python3, train.py, {go}]
    Worker: *replica
"""


class Bars(kit.Training):
    def test_bars_are_rows_and_progress(self):
        """Each bar is one row that is drawn again, the status line says how far both are, and at the end each bar is
        one line; what is kept has all that tqdm wrote."""
        with tempfile.TemporaryDirectory() as folder:
            folder, go = pathlib.Path(folder), os.path.join(folder, "go")
            (folder / "train.py").write_text(TRAINING)
            (folder / "job.yaml").write_text(JOB.format(go=go))
            environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
            talk = Talk("run", "--config", CONFIG, "--timeout", kit.TIMEOUT, "job.yaml", folder=folder, columns=160,
                        environment=environment)
            status = re.compile(r"\x1b\[7m bars  Running  .*epoch 2/2  step 2[01]/40  \S+ left \x1b")
            rows = [re.compile(rf"{name} +\|\x1b\[0m train: +5[0-2]%\|[^\r\n]*\| 2[01]/40 \[[^\r\n]*loss=")
                    for name in ("master-0", "worker-0")]
            while not (status.search(talk.text) and all(row.search(talk.text) for row in rows)):
                self.assertTrue(talk.read(), talk.text[-4000:])
            pathlib.Path(go).touch()
            self.assertEqual(talk.end(), 0, talk.text[-4000:])
            for name in ("master-0", "worker-0"):
                whole = re.findall(rf"{name} \|\x1b\[0m train: 100%\|[^\r\n]*\| 40/40 \[[^\r\n]*\]\r\n", talk.text)
                self.assertEqual(len(whole), 2, talk.text[-4000:])
                self.assertRegex(talk.text, rf"{name} \|\x1b\[0m final loss \d+\.\d+\r\n")
            logs = sorted((folder / "state" / "roundhouse" / "runs").glob("*/logs/bars/*/pytorch.log"))
            self.assertEqual(len(logs), 2)
            for log in logs:
                self.assertGreater(log.read_bytes().count(b"\r"), 40)


kit.main()
