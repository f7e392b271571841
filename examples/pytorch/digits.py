#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits with DistributedDataParallel, on as many processes as the job has.

The data are the 1797 real images that scikit-learn carries, so nothing is downloaded. Rank 0 prints the accuracy on
images that were not trained on, and the script ends with 1 when it is below MIN_ACCURACY.

Environment: MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK come from the job. Further:
  EPOCHS          passes over the data (10)
  EPOCH_SECONDS   least time that one pass takes (0); gives one time to see a failure and a restart
  CHECKPOINT_DIR  folder that all ranks see; a job that is started again goes on after its last finished epoch
"""
import os
import sys
import time

# On one machine each replica has a loopback address, and gloo must use that interface; elsewhere it finds its own.
if os.environ.get("MASTER_ADDR", "").startswith("127."):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

import numpy as np
import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

MIN_ACCURACY = 0.95
TRAIN_IMAGES = 1500
BATCH = 96


def load_data():
    """Images and labels in an order that is random but the same on every rank."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    return torch.tensor(images[order] / 16.0, dtype=torch.float32), torch.tensor(labels[order])


def checkpoint_path():
    folder = os.environ.get("CHECKPOINT_DIR")
    return os.path.join(folder, "digits.npz") if folder else None


def load_checkpoint(model):
    """The epoch to start with: 0, or the one after the last that was saved."""
    path = checkpoint_path()
    if not path or not os.path.exists(path):
        return 0
    with np.load(path) as saved:
        model.load_state_dict({key: torch.from_numpy(saved[key]) for key in model.state_dict()})
        return int(saved["epoch"]) + 1


def save_checkpoint(model, epoch):
    """Rank 0 writes; the rename makes sure that a rank killed while writing leaves the file before."""
    path = checkpoint_path()
    if not path or dist.get_rank() != 0:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "wb") as file:
        np.savez(file, epoch=epoch, **{key: value.numpy() for key, value in model.state_dict().items()})
    os.replace(path + ".new", path)


def train_epoch(model, optimizer, images, labels, epoch):
    """One pass over this rank's share of the images; DistributedDataParallel averages the gradients of all ranks."""
    rank, world = dist.get_rank(), dist.get_world_size()
    order = torch.from_numpy(np.random.RandomState(epoch).permutation(len(images)))
    batch = BATCH // world
    # every rank makes the same number of steps, or the others would wait for it
    share = order[rank::world][: len(images) // world]
    total = 0.0
    steps = range(0, len(share), batch)
    for start in steps:
        pick = share[start : start + batch]
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[pick]), labels[pick])
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(steps)


def main():
    torch.set_num_threads(1)  # the replicas share the cores of this machine
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} is ready, process {os.getpid()}", flush=True)

    images, labels = load_data()
    train, test = slice(0, TRAIN_IMAGES), slice(TRAIN_IMAGES, None)
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    first = load_checkpoint(network)
    if first and rank == 0:
        print(f"going on with epoch {first} from {checkpoint_path()}", flush=True)
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    epochs = int(os.environ.get("EPOCHS", "10"))
    least = float(os.environ.get("EPOCH_SECONDS", "0"))
    for epoch in range(first, epochs):
        begin = time.monotonic()
        loss = train_epoch(model, optimizer, images[train], labels[train], epoch)
        time.sleep(max(0.0, least - (time.monotonic() - begin)))
        save_checkpoint(network, epoch)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    with torch.no_grad():
        accuracy = (network(images[test]).argmax(1) == labels[test]).float().mean().item()
    # nobody leaves while another still talks to it, or removes the checkpoint that another has yet to read
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
        if checkpoint_path():
            os.remove(checkpoint_path())  # the next job starts from the beginning
    return 0 if accuracy >= MIN_ACCURACY else 1


if __name__ == "__main__":
    sys.exit(main())
