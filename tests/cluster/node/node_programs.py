# SPDX-License-Identifier: Apache-2.0
"""What runs in the pods of test_node.py. Sources are sent as text; they run in images of kubernetes/images.sh."""

# Data-parallel training over gloo; ranks find each other by the names of their Services. All must end with the same
# weights.
TORCH = """
import os, socket, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
print("master", os.environ["MASTER_ADDR"], "is", socket.gethostbyname(os.environ["MASTER_ADDR"]), flush=True)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
x = torch.rand(64, 2)
y = x @ torch.tensor([[2.0], [-3.0]]) + 1
for step in range(300):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
weights = [round(v, 4) for p in model.parameters() for v in p.flatten().tolist()]
print(f"rank {rank} of {size} weights {weights} loss {loss.item():.4f}", flush=True)
dist.barrier()
"""

# A parameter server as far as the operator sees it: it serves, and never ends.
PS = """
import http.server, json, os
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["ps"][config["task"]["index"]].rsplit(":", 1)
print("serving", host, port, flush=True)
http.server.HTTPServer(("", int(port)), http.server.SimpleHTTPRequestHandler).serve_forever()
"""

# Chief and workers: talk to every parameter server by the address in TF_CONFIG, and end.
CHIEF = """
import json, os, time, urllib.request
print(os.environ["TF_CONFIG"], flush=True)
for address in json.loads(os.environ["TF_CONFIG"])["cluster"]["ps"]:
    for attempt in range(240):
        try:
            answer = urllib.request.urlopen(f"http://{address}/etc/hostname", timeout=5)
            print(address, answer.read().decode().strip(), flush=True)
            break
        except OSError as error:
            last = error
            time.sleep(0.5)
    else:
        raise last
"""

# mpirun reaches workers through kubectl exec; they need to run first.
LAUNCHER = """
set -e
for host in $(cut -d' ' -f1 /etc/mpi/hostfile); do
  n=0; until /opt/kube/kubectl exec $host -- true; do n=$((n+1)); [ $n -lt 120 ]; sleep 0.5; done
done
mpirun --allow-run-as-root -n 2 python3 -c '
import socket
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
print("rank", world.rank, "of", world.size, "on", socket.gethostname(), "sum", total, flush=True)
'
"""

# Data-parallel training over rh_comm, which the image does not have: an init container has brought it. No line names a
# rank or an address.
COMM = """
import os, sys, torch, roundhouse, roundhouse.torch
print("package", roundhouse.__file__, flush=True)
shm = os.statvfs("/dev/shm")
print("shm", shm.f_blocks * shm.f_frsize, "profile", os.environ.get("OF_THE_PROFILE"), flush=True)
with roundhouse.Comm() as comm:
    torch.manual_seed(comm.rank)
    model = torch.nn.Linear(2, 1)
    roundhouse.torch.broadcast_parameters(model.state_dict(), comm)
    optimizer = roundhouse.torch.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.2), comm)
    x = torch.rand(64, 2)
    y = x @ torch.tensor([[2.0], [-3.0]]) + 1
    for step in range(300):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    bits = b"".join(p.detach().numpy().tobytes() for p in model.parameters()).hex()
    print(f"rank {comm.rank} of {comm.world} over {comm.backend} weights {bits} loss {loss.item():.4f}", flush=True)
"""

# Rank 2 leaves its peers, which end at once, and reports the cause when they have ended.
SLOW_CLEANUP = """
import os, socket, time
rank, address = int(os.environ["RANK"]), (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))

def connect():
    while True:
        try:
            return socket.create_connection(address)
        except OSError:
            time.sleep(0.1)

def lose(peer):
    peer.recv(1)
    raise RuntimeError("Connection closed by peer [%s]:%d" % peer.getpeername()[:2])

if rank == 0:
    server = socket.create_server(("", address[1]))
    peers = dict((int(peer.recv(1)), peer) for peer in (server.accept()[0], server.accept()[0]))
    lose(peers[2])
master = connect()
master.sendall(b"%d" % rank)
if rank == 1:
    lose(master)
try:
    raise ValueError("shard 7 holds a label 12")
finally:
    master.shutdown(socket.SHUT_WR)
    master.recv(1)
    print("uploading event files", flush=True)
    time.sleep(2)  # the status of a container has whole seconds
"""
