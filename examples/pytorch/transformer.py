#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Teach a small vision transformer to read handwritten digits with the Trainer of Hugging Face transformers (on
accelerate).

The model is made from its configuration, so no weights are downloaded; the data are the 1797 real images that
scikit-learn carries.
Rank 0 prints the accuracy on images that were not trained on, and each process ends with 1 when it is below
MIN_ACCURACY.

Start it with torchrun: accelerate wants LOCAL_RANK beside what the job gives.
"""
import os
import sys
import tempfile

# On one machine each replica has a loopback address, and gloo must use that interface; elsewhere it finds its own.
if os.environ.get("MASTER_ADDR", "").startswith("127."):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from digits import TRAIN_IMAGES, load_data
from transformers import (PrinterCallback, Trainer, TrainerCallback, TrainingArguments, ViTConfig,
                          ViTForImageClassification)

MIN_ACCURACY = 0.90
BATCH = 48
EPOCHS = 10


class Images(torch.utils.data.Dataset):
    def __init__(self, images, labels):
        self.images, self.labels = images.reshape(-1, 1, 8, 8), labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"pixel_values": self.images[index], "labels": self.labels[index]}


class Report(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and "loss" in logs:
            print(f"epoch {round(state.epoch) - 1} loss {float(logs['loss']):.4f}", flush=True)


def build_model():
    torch.manual_seed(0)
    return ViTForImageClassification(ViTConfig(image_size=8, patch_size=2, num_channels=1, hidden_size=48,
                                               num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                                               num_labels=10))


def main():
    torch.set_num_threads(1)  # the replicas share the cores of this machine
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    images, labels = load_data()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, use_cpu=True, ddp_backend="gloo", ddp_find_unused_parameters=False,
            num_train_epochs=EPOCHS, learning_rate=3e-3, seed=0,
            per_device_train_batch_size=BATCH // world, logging_strategy="epoch", save_strategy="no", report_to="none",
            disable_tqdm=True)
        trainer = Trainer(build_model(), arguments, train_dataset=Images(images[:TRAIN_IMAGES], labels[:TRAIN_IMAGES]),
                          callbacks=[Report()])
        trainer.remove_callback(PrinterCallback)
        print(f"rank {rank} of {arguments.world_size} is ready, process {os.getpid()}", flush=True)
        trainer.train()
        found = trainer.predict(Images(images[TRAIN_IMAGES:], labels[TRAIN_IMAGES:]))
    accuracy = float(np.mean(found.predictions.argmax(1) == found.label_ids))
    if rank == 0:
        print(f"test accuracy {accuracy:.3f}", flush=True)
    torch.distributed.destroy_process_group()
    return 0 if accuracy >= MIN_ACCURACY and arguments.world_size == world else 1


if __name__ == "__main__":
    sys.exit(main())
