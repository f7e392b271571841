# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend "rh", for torch 2.0 and newer: a ProcessGroup over a Comm."""
import datetime
import functools
import inspect
import threading
import types

import torch
import torch.distributed as dist

from roundhouse.errors import InvalidError
from roundhouse.torch import shapes
from roundhouse.torch.bootstrap import start
from roundhouse.torch.monitored import Monitored
from roundhouse.torch.operations import Operations
from roundhouse.torch.work import forget

NAME = "rh"
DEVICES = ["cpu", "cuda"]
_ROUTED = (
    "allreduce", "allreduce_coalesced", "broadcast", "reduce", "allgather", "allgather_coalesced", "all_gather_single",
    "_allgather_base", "all_gather_single_coalesced", "allgather_into_tensor_coalesced", "reduce_scatter",
    "reduce_scatter_single", "_reduce_scatter_base",
    "reduce_scatter_single_coalesced", "reduce_scatter_tensor_coalesced", "alltoall", "all_to_all_single",
    "alltoall_base", "gather", "gather_single", "scatter", "barrier", "send", "recv", "recv_anysource")
_MESSAGES = ("send", "recv", "recv_anysource")
# the Comm of all ranks, of which groups are made
_state = {"world": None}


def _device_of(arguments):
    """The type of device of the first tensor in arguments, which may be lists; None: there is no tensor."""
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            return argument.device.type
        if isinstance(argument, (list, tuple)):
            found = _device_of(argument)
            if found is not None:
                return found
    return None


class _Others:
    """The backends of a group that has others beside rh: "cpu:gloo,cuda:rh" has one. They are made when they are
    needed.

    torch of any version takes a ProcessGroup made in Python instead of all backends that it would have made itself.
    """

    def __init__(self, options):
        self._options = (options.store, options.group_rank, options.group_size, options.timeout)
        self._made, self._lock = {}, threading.Lock()

    def get(self, device, name):
        """The backend of that name for a type of device. Collective at the first call."""
        with self._lock:
            if device not in self._made:
                self._made[device] = self._make(device, name)
            return self._made[device]

    def _make(self, device, name):
        store, rank, size, timeout = self._options
        store = dist.PrefixStore(f"rh/{device}", store)
        if name == "gloo" and dist.is_gloo_available():
            return self._checked(dist.ProcessGroupGloo(store, rank, size, timeout), store)
        if name == "nccl" and not torch.cuda.is_available():
            # torch asks for it where it would do without
            raise InvalidError(f"rh: {device} is to use nccl, and there is no CUDA device", -1)
        if name == "nccl" and dist.is_nccl_available():
            options = dist.ProcessGroupNCCL.Options()
            options._timeout = timeout
            return self._checked(dist.ProcessGroupNCCL(store, rank, size, options), store)
        raise InvalidError(f'rh: {device} is to use the backend "{name}", which cannot stand beside rh in this torch; '
                           'gloo and nccl can', -1)

    def _checked(self, backend, store):
        """As torch has it under TORCH_DISTRIBUTED_DEBUG=DETAIL: it compares what the ranks post before they run it."""
        if not shapes.enabled() or not dist.is_gloo_available():
            return backend
        _, rank, size, timeout = self._options
        return dist.distributed_c10d._create_process_group_wrapper(backend, NAME, store, rank, size, timeout)

    def close(self):
        """Leave them."""
        with self._lock:
            made, self._made = self._made, {}
        for backend in made.values():
            if hasattr(backend, "shutdown"):
                backend.shutdown()


class Group(dist.ProcessGroup):
    """A torch ProcessGroup. comm: its Comm, for what torch has no words for."""

    def __init__(self, comm, options):
        super().__init__(comm.rank, comm.world)
        self.comm = comm
        self._own = Operations(comm, options.timeout.total_seconds())
        self._store = options.store
        self._others, self._known = _Others(options), None
        self._ranks = list(options.global_ranks_in_group) or list(range(comm.world))
        self._compares = shapes.enabled()
        self._monitored = Monitored(options.store, comm.rank, comm.world)
        self._group_name, self._group_desc = "", ""

    def size(self):
        return self.comm.world

    def rank(self):
        return self.comm.rank

    def name(self):
        return NAME

    def getBackendName(self):
        return NAME

    def getSize(self):
        return self.comm.world

    def getRank(self):
        return self.comm.rank

    @property
    def group_name(self):
        return self._group_name

    def _set_group_name(self, name):
        self._group_name = name

    @property
    def group_desc(self):
        return self._group_desc

    def _set_group_desc(self, desc):
        self._group_desc = desc

    @property
    def supports_coalescing(self):
        return False

    @property
    def supports_splitting(self):
        return True

    def get_group_store(self):
        """torch's store of this group."""
        return self._store

    def split_group(self, new_ranks, timeout=None, opts=None, group_name=None, group_desc=None, device_types=None):
        """A group of some ranks of this one, in that order. Collective among them.

        torch's split_group() calls it on all ranks; on one that is not in new_ranks it returns None. timeout: a
        timedelta; None: as here. device_types: of the devices that the new group serves; None: as here.
        """
        if self.comm.rank not in new_ranks:
            return None
        if opts is not None:
            raise InvalidError("rh: split_group() takes no pg_options", -1)
        seconds = timeout or datetime.timedelta(seconds=self._own.seconds)
        made = Group(self.comm.group(new_ranks), types.SimpleNamespace(
            store=dist.PrefixStore(f"rh/split/{group_name}", self._store), group_rank=new_ranks.index(self.comm.rank),
            group_size=len(new_ranks), timeout=seconds,
            global_ranks_in_group=[self._ranks[rank] for rank in new_ranks]))
        made._set_group_name(group_name or "")
        made._set_group_desc(group_desc or "")
        kept = None if device_types is None else {device.type for device in device_types}
        # torch knows them only once the group is registered, and asks before
        names = self._names().items()
        made._known = {device: name for device, name in names if kept is None or device in kept} or None
        return made

    def set_timeout(self, timeout):
        """What an operation posted from now on may take, a timedelta."""
        self._own.seconds = timeout.total_seconds()

    def _set_default_timeout(self, timeout):
        self.set_timeout(timeout)

    def _names(self):
        """The name of the backend by type of device. torch knows it once the group is made."""
        if self._known is None:
            config = dist.distributed_c10d._world.pg_backend_config.get(self)
            if config is None:
                return {}
            self._known = dict(pair.split(":") for pair in config.split(","))
        return self._known

    @property
    def _device_types(self):
        return [torch.device(device) for device in self._names()]

    def _serving(self, device):
        """What carries tensors of a type of device: Operations, or another backend."""
        names = self._names()
        name = names.get(device, NAME if device is None or not names else None)
        if name is None:
            raise InvalidError(f"rh: this group has no backend for tensors of {device}; it has "
                               f"{', '.join(map(':'.join, names.items()))}", -1)
        return self._own if name == NAME else self._others.get(device, name)

    def _get_backend(self, device):
        serving = self._serving(torch.device(device).type)
        return self if serving is self._own else serving

    def get_backend(self, device):
        return self._get_backend(device)

    def _start_coalescing(self, device):
        serving = self._serving(torch.device(device).type)
        serving.start_coalescing() if serving is self._own else serving._start_coalescing()

    def _end_coalescing(self, device, *works):
        """One Work for all of them. torch 2.0 hands over theirs, and waits for them itself."""
        serving = self._serving(torch.device(device).type)
        return serving.end_coalescing() if serving is self._own else serving._end_coalescing(*works)

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """barrier() that names who did not come within timeout, a timedelta. It breaks nothing: the group may be used
        afterwards."""
        serving = self._serving("cpu")
        if serving is not self._own:
            return serving.monitored_barrier(timeout, wait_all_ranks)
        return self._monitored.run(self._own.seconds if timeout is None else timeout.total_seconds(), wait_all_ranks)

    def shutdown(self):
        """Leave; torch's destroy_process_group() calls it."""
        comm = self.comm
        self._others.close()
        forget(comm)
        if _state["world"] is comm:
            _state["world"] = None
        comm.close()

    def abort(self):
        """End all operations of all ranks."""
        self.comm.abort("torch's abort()")


def _routed(name):
    """A method of Group: the operation by what carries its tensors; torch's profiler shows ours as "rh:NAME".

    A collective that is refused here keeps its place in the order of all: where others have posted it, they get an
    error that names this rank, instead of waiting for it.
    """

    def own(self, args, kwargs):
        try:
            if self._compares and name not in _MESSAGES:
                shapes.compare(self.comm, self._ranks, name, args, self._own.seconds)
            return getattr(self._own, name)(*args, **kwargs)
        except Exception:
            if name not in _MESSAGES:
                self._own.stand_in()
            raise

    @functools.wraps(getattr(Operations, name))
    def operation(self, *args, **kwargs):
        serving = self._serving(_device_of(args) or _device_of(kwargs.values()))
        if serving is not self._own:
            return getattr(serving, name)(*args, **kwargs)
        if not torch.autograd._profiler_enabled():
            return own(self, args, kwargs)
        with torch.autograd.profiler.record_function(f"{NAME}:{name}"):
            return own(self, args, kwargs)

    return operation


for _name in _ROUTED:
    setattr(Group, _name, _routed(_name))


def _create(options, _backend_options=None):
    """Make the group that torch asks for."""
    ranks = list(options.global_ranks_in_group)
    world = _state["world"]
    if world is not None and ranks:
        return Group(world.group(ranks), options)
    everybody = not ranks or (dist.is_initialized() and len(ranks) == dist.get_world_size() and ranks == sorted(ranks))
    if not everybody:
        raise InvalidError('rh: a group of some ranks is made of the group of all; init_process_group("rh") first', -1)
    seconds = options.timeout.total_seconds()
    comm = start(options.group_rank, options.group_size, options.store, init_timeout=seconds, timeout=seconds)
    _state["world"] = comm
    return Group(comm, options)


def register():
    """Make the backend "rh" known to torch.distributed."""
    # torch 2.0 asks for no devices
    more = {"devices": DEVICES} if "devices" in inspect.signature(dist.Backend.register_backend).parameters else {}
    dist.Backend.register_backend(NAME, _create, extended_api=True, **more)
    # torch's flight recorder cannot record a group made in Python, and split_group() would fail on it; rh_comm has its
    # own trace
    getattr(dist.distributed_c10d, "_FR_SELF_RECORDING_BACKENDS", set()).add(NAME)
