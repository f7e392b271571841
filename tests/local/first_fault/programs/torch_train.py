# SPDX-License-Identifier: Apache-2.0
"""A small training with torch and gloo that goes wrong in a chosen way. usage: torch_train.py WAY CULPRIT

CULPRIT goes wrong, a rank or a replica as "worker-1". COLLECTIVE_SECONDS is how long a collective may take.
"""
import ctypes
import datetime
import os
import resource
import signal
import sys
import threading
import time

WAY = sys.argv[1].removeprefix("record_")
CULPRIT = sys.argv[2]
RANK = int(os.environ["RANK"])
# elastic torchrun numbers replicas by chance
MINE = CULPRIT in (str(RANK), os.environ.get("HOSTNAME", "").removeprefix("job-"))
STEPS = 3

if os.environ.get("MASTER_ADDR", "").startswith("127."):
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

if WAY == "import_all" or (WAY == "import_one" and MINE):
    import flash_attention_extra  # pylint: disable=import-error,unused-import

import torch
import torch.distributed as dist


def say(text):
    print(text, flush=True)


def step(number, model=None):
    """One step: what each rank computed is summed up."""
    time.sleep(0.05)
    gradients = torch.full((1000,), float(number))
    dist.all_reduce(gradients)
    if RANK == 0:
        say(f"step {number} loss {1.0 / (number + 1):.4f}")


def load_batch(number):
    if MINE and number == STEPS:
        raise ValueError(f"shard 7 of the data set holds a label 12, allowed are 0 to 9")
    return number


def raises():
    step(load_batch(STEPS))


def raises_slowly():
    """The culprit leaves the group, so that its peers end at once, and reports the cause later."""
    try:
        step(load_batch(STEPS))
    except ValueError:
        dist.destroy_process_group()
        say("closing the log writer")
        time.sleep(1.5)
        say("uploaded 3 event files")
        raise


def raises_loudly():
    """After the exception much further output."""
    try:
        step(load_batch(STEPS))
    except ValueError:
        import traceback
        traceback.print_exc()
        sys.stderr.flush()
        for number in range(600):
            print(f"wandb: uploading artifact {number} of 600")
        sys.stdout.flush()
        os._exit(1)


def all_raise():
    raise FileNotFoundError(2, "No such file or directory", "/data/train/index.json")


def two_raise():
    """The same bad shard, met by two ranks, one a second later."""
    if MINE or RANK == 0:
        time.sleep(0.0 if MINE else 1.0)
        raise ValueError(f"rank {RANK}: shard 7 of the data set holds a label 12, allowed are 0 to 9")
    step(STEPS)


def exits_without_a_word():
    if MINE:
        os._exit(3)
    step(STEPS)


def exits_early_with_0():
    """Uneven data: one rank has a step fewer, and leaves."""
    if MINE:
        say("no more batches, done")
        dist.destroy_process_group()
        sys.exit(0)
    step(STEPS)


def segfaults():
    if MINE:
        ctypes.string_at(0)
    step(STEPS)


def segfaults_with_trace():
    if MINE:
        import faulthandler
        faulthandler.enable()
        ctypes.string_at(0)
    step(STEPS)


def aborts():
    """What glibc says of a corrupt heap."""
    if MINE:
        libc = ctypes.CDLL("libc.so.6")
        libc.malloc.restype = ctypes.c_void_p
        libc.free.argtypes = [ctypes.c_void_p]
        block = libc.malloc(100)
        libc.free(block)
        libc.free(block)
    step(STEPS)


def runs_out_of_memory():
    if MINE:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        torch.zeros(8 << 30)
    step(STEPS)


def is_out_of_memory_in_python():
    if MINE:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        bytearray(8 << 30)
    step(STEPS)


def exceeds_limit():
    """Takes more and more memory, until the kernel ends it."""
    kept = []
    while MINE:
        kept.append(b"x" * (64 << 20))
        time.sleep(0.01)
    step(STEPS)


def fills_disk():
    if MINE:
        with open("/dev/full", "wb") as file:
            torch.save({"weights": torch.ones(10)}, file)
            file.flush()
    step(STEPS)


def fills_file():
    """The size of files is limited."""
    if MINE:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        with open(os.path.join(os.environ.get("TMPDIR", "/tmp"), f"checkpoint-{os.getpid()}"), "wb") as file:
            os.unlink(file.name)
            file.write(b"x" * (1 << 20))
    step(STEPS)


def is_terminated():
    if MINE:
        os.kill(os.getpid(), signal.SIGTERM)
    step(STEPS)


def is_killed():
    if MINE:
        os.kill(os.getpid(), signal.SIGKILL)
    step(STEPS)


def finds_nan():
    loss = torch.tensor(float("nan") if MINE else 1.0)
    assert torch.isfinite(loss), f"loss is {loss.item()} at step {STEPS}"
    step(STEPS)


def differs_in_shape():
    """DistributedDataParallel compares the shapes of all ranks with those of rank 0."""
    model = torch.nn.Linear(10, 4 if MINE else 3)
    torch.nn.parallel.DistributedDataParallel(model)
    step(STEPS)


class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        if MINE and index == 5:
            if WAY == "loader_dies":
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyError(f"image_{index:05}.png")
        return torch.zeros(4)


def loader_raises():
    for number, _ in enumerate(torch.utils.data.DataLoader(Broken(), batch_size=2, num_workers=1)):
        step(STEPS + number)


loader_dies = loader_raises


def warns_and_another_raises():
    """Words that look like an error, from one that is well."""
    if RANK == 0:
        say("ERROR: metrics server is not reachable, going on without (ConnectionRefusedError: [Errno 111] Connection "
            "refused)")
    raises()


def catches_and_another_raises():
    """A traceback that is printed and survived, from one that is well."""
    if RANK == 0:
        import traceback
        try:
            open("/data/cache.bin", "rb").close()
        except OSError:
            traceback.print_exc()
            say("no cache, going on")
    step(STEPS)
    time.sleep(0.5)
    step(STEPS + 1)
    raises()


def thread_raises():
    """The exception is in a thread, and the program ends itself."""
    def work():
        try:
            raise OSError(5, "Input/output error", "/data/shard-0007.tar")
        except OSError as error:
            print(f"prefetch failed: {error}", file=sys.stderr, flush=True)
            os._exit(17)
    if MINE:
        threading.Thread(target=work).start()
    step(STEPS)


def hangs_in_other_collective():
    """One rank is in another collective than its peers."""
    if MINE:
        say("saving a checkpoint")
        dist.barrier()
        return
    step(STEPS)


def hangs_in_loader():
    if MINE:
        say("reading shard 7")
        os.read(os.pipe()[0], 1)
    step(STEPS)


def hangs_in_lock():
    if MINE:
        lock = threading.Lock()
        lock.acquire()
        say("waiting for the tokenizer's lock")
        lock.acquire()
    step(STEPS)


def hangs_after_last_step():
    if MINE:
        say("closing the data loader")
        threading.Event().wait()


def hangs_everywhere():
    """A deadlock of all, and no limit of time."""
    say(f"rank {RANK} computes metrics")
    threading.Event().wait()


def spins():
    """No more output, but work: one rank needs far longer than its peers are patient."""
    if MINE:
        say("building the index")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            pass
    step(STEPS)


def is_stopped():
    """Frozen, as by a debugger or a full pipe."""
    if MINE:
        say("step 2 done")
        os.kill(os.getpid(), signal.SIGSTOP)
    step(STEPS)


def kills_agent():
    """Somebody ends torchrun."""
    if MINE:
        os.kill(os.getppid(), signal.SIGTERM if WAY == "terminates_agent" else signal.SIGKILL)
        time.sleep(60)
    step(STEPS)


terminates_agent = kills_agent


def before_init():
    if WAY == "hangs_before_init" and MINE:
        say("downloading the data set")
        threading.Event().wait()
    if WAY == "raises_before_init" and MINE:
        raise PermissionError(13, "Permission denied", "/data/train")
    if WAY == "wrong_world":
        os.environ["WORLD_SIZE"] = str(int(os.environ["WORLD_SIZE"]) + 1)
    if WAY == "same_rank" and MINE:
        os.environ["RANK"] = "1"
    if WAY == "port_taken" and RANK == 0:
        import socket
        global taken  # kept open
        taken = socket.socket()
        taken.bind((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])))
        taken.listen()
    if WAY == "wrong_master" and MINE:
        os.environ["MASTER_PORT"] = "1"
    if WAY == "wrong_name" and MINE:
        os.environ["MASTER_ADDR"] = "digits-master-0.invalid"


BEFORE_INIT = ("hangs_before_init", "raises_before_init", "wrong_world", "same_rank", "port_taken", "wrong_master",
               "wrong_name", "import_one", "import_all")


def main():
    torch.set_num_threads(1)
    say(f"rank {RANK} starts")
    before_init()
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=float(os.environ.get("COLLECTIVE_SECONDS",
                                                                                            "1800"))))
    for number in range(STEPS):
        step(load_batch(number))
    if WAY not in BEFORE_INIT:
        globals()[WAY]()
    dist.barrier()
    dist.destroy_process_group()
    say(f"rank {RANK} is done")


if __name__ == "__main__":
    if sys.argv[1] != WAY:
        from torch.distributed.elastic.multiprocessing.errors import record
        main = record(main)
    main()
