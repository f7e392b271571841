# SPDX-License-Identifier: Apache-2.0
"""accelerate and the Trainer of transformers over the backend "rh", with torch 2. usage: test_trainers.py LIBRARY
SOURCE [PYTHON]"""
import os
import subprocess
import sys
import tempfile

import kit
import test_torch2
from test_torch1 import alone, check_equal, data, network


def start():
    """As torchrun would on one host; both take what is initialized."""
    os.environ.update({"LOCAL_RANK": os.environ["RANK"], "LOCAL_WORLD_SIZE": os.environ["WORLD_SIZE"]})
    return test_torch2.start()


@kit.case
def accelerate():
    torch, dist, rank, world = start()
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    assert (accelerator.num_processes, accelerator.process_index) == (world, rank)
    assert dist.get_backend() == "rh"
    made = network(0)
    model, optimizer = accelerator.prepare(made, torch.optim.SGD(made.parameters(), lr=0.02, momentum=0.9))
    assert isinstance(model, torch.nn.parallel.DistributedDataParallel)
    for step in range(5):
        optimizer.zero_grad()
        x, y = data(rank, step)
        accelerator.backward(((model(x) - y) ** 2).mean())
        optimizer.step()
    check_equal(accelerator.unwrap_model(model), alone(world, 5, network))
    assert accelerator.gather(torch.tensor([rank])).tolist() == list(range(world))
    accelerator.wait_for_everyone()
    accelerator.end_training()


@kit.case
def trainer():
    torch, dist, rank, world = start()
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network(0)

        def forward(self, x, labels):
            logits = self.inner(x)
            return {"loss": ((logits - labels) ** 2).mean(), "logits": logits}

    x, y = data(0, 0)
    examples = [{"x": one, "labels": label} for one, label in zip(x, y)]
    arguments = TrainingArguments(output_dir=os.environ["TEST_FOLDER"], use_cpu=True, max_steps=6,
                                  per_device_train_batch_size=2, learning_rate=0.01, report_to=[], save_strategy="no",
                                  disable_tqdm=True, remove_unused_columns=False)
    assert arguments.world_size == world and arguments.process_index == rank
    used = Trainer(model=Model(), args=arguments, train_dataset=examples)
    before = torch.cat([value.flatten() for value in used.model.state_dict().values()]).clone()
    assert used.train().global_step == 6
    assert dist.get_backend() == "rh"
    after = torch.cat([value.flatten().cpu() for value in used.model.state_dict().values()])
    everybody = [torch.empty_like(after) for _ in range(world)]
    dist.all_gather(everybody, after)
    assert all((one == after).all() for one in everybody) and not (before == after).all()


class Trainers(kit.Ranks):
    def test_accelerate(self):
        self.world(2, "accelerate", names="torch", python=test_torch2.PYTHON, further=OFFLINE)

    def test_trainer(self):
        with tempfile.TemporaryDirectory() as folder:
            self.world(2, "trainer", names="torch", python=test_torch2.PYTHON,
                       further=OFFLINE | {"TEST_FOLDER": folder})


# nothing is downloaded
OFFLINE = {"HF_HUB_OFFLINE": 1, "ACCELERATE_USE_CPU": "true"}

if __name__ == "__main__":
    if "--case" not in sys.argv:
        for module in ("accelerate", "transformers"):
            if subprocess.run([test_torch2.PYTHON, "-c", f"import {module}"], stderr=subprocess.DEVNULL,
                              check=False).returncode != 0:
                kit.skip(f"{test_torch2.PYTHON} has no {module}")
    kit.main()
