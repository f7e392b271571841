/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of frameworks when one of their processes ends, from their sources. The first row that matches decides, so
 * what makes a text sure stands above what it could be taken for.
 */
#include "job/evidence/rows.h"

#include <string.h>

static const struct rh_evidence_row evidence_rows[] = {
	/* errors of the process itself whose messages look like those of a connection */
	{RH_BLAME_CAUSE, false, "any", "EADDRINUSE", "torch/csrc/distributed/c10d/socket.cpp"},
	{RH_BLAME_CAUSE, false, "any", "ddress already in use", "strerror(EADDRINUSE)"},
	{RH_BLAME_CAUSE, false, "any", "No space left on device", "strerror(ENOSPC)"},
	{RH_BLAME_CAUSE, false, "any", "Disk quota exceeded", "strerror(EDQUOT)"},
	{RH_BLAME_CAUSE, false, "any", "annot allocate memory", "strerror(ENOMEM)"},
	{RH_BLAME_CAUSE, false, "PyTorch", "out of memory", "c10/cuda/CUDACachingAllocator.cpp"},
	{RH_BLAME_CAUSE, false, "PyTorch", "DataLoader worker (pid", "torch/utils/data/_utils/signal_handling.py"},
	{RH_BLAME_CAUSE, false, "Open MPI", "There are not enough slots", "opal/mca/rmaps/base/help-orte-rmaps-base.txt"},
	{RH_BLAME_CAUSE, false, "Open MPI", "was unable to launch the specified application",
     "orte/tools/orterun/help-orterun.txt"},
	{RH_BLAME_CAUSE, false, "Open MPI", "*** MPI_ERR_", "ompi/errhandler/errhandler_predefined.c"},
	{RH_BLAME_CAUSE, false, "Open MPI", "*** An error occurred in ", "ompi/errhandler/errhandler_predefined.c"},
	{RH_BLAME_CAUSE, false, "Open MPI", "Signal: Segmentation fault", "opal/util/stacktrace.c"},
	{RH_BLAME_CAUSE, false, "Python", "Fatal Python error: ", "Python/pylifecycle.c"},

	/* it was ended from outside */
	{RH_BLAME_KILLED, false, "PyTorch", "SignalException: Process ",
     "torch/distributed/elastic/multiprocessing/api.py"},
	{RH_BLAME_KILLED, false, "Python", "KeyboardInterrupt", "Python/errors.c"},

	/* peers that are gone or late */
	{RH_BLAME_VICTIM, true, "rh_comm", "PeerError: ", "comm/python/roundhouse/errors.py"},
	{RH_BLAME_LATE, true, "rh_comm", "DeadlineError: ", "comm/python/roundhouse/errors.py"},
	{RH_BLAME_VICTIM, true, "rh_comm", "AbortedError: ", "comm/python/roundhouse/errors.py"},
	{RH_BLAME_VICTIM, true, "rh_comm", " died: its connection closed", "comm/core/bootstrap/server_liveness.c"},
	{RH_BLAME_VICTIM, true, "rh_comm", "the connection to rank ", "comm/native/native.c"},
	{RH_BLAME_LATE, true, "rh_comm", "did not come in time", "comm/core/collective/team.c"},
	{RH_BLAME_LATE, true, "rh_comm", "was not done within its time limit", "comm/core/request/request.c"},
	{RH_BLAME_LATE, true, "PyTorch", "failed to pass monitoredBarrier",
     "torch/csrc/distributed/c10d/ProcessGroupGloo.cpp"},
	{RH_BLAME_VICTIM, false, "Gloo", "Connection closed by peer", "gloo/transport/tcp/pair.cc"},
	{RH_BLAME_LATE, false, "Gloo", "Timed out waiting ", "gloo/transport/tcp/unbound_buffer.cc"},
	{RH_BLAME_LATE, false, "Gloo", "Application timeout caused pair closure", "gloo/transport/tcp/unbound_buffer.cc"},
	{RH_BLAME_LATE, false, "Gloo", "connectFullMesh failed", "gloo/rendezvous/context.cc"},
	{RH_BLAME_LATE, false, "Gloo", "Connect timeout [", "gloo/transport/tcp/pair.cc"},
	{RH_BLAME_LATE, false, "NCCL", "Watchdog caught collective operation timeout", "torch ProcessGroupNCCL.cpp"},
	{RH_BLAME_VICTIM, false, "NCCL", "remote process exited or there was a network error", "NCCL src/include/nccl.h"},
	{RH_BLAME_VICTIM, false, "NCCL", "ncclRemoteError", "torch/csrc/distributed/c10d/NCCLUtils.hpp"},
	{RH_BLAME_VICTIM, false, "NCCL", "NCCL communicator was aborted", "torch/csrc/distributed/c10d/NCCLUtils.hpp"},
	{RH_BLAME_LATE, false, "NCCL", "Some NCCL operations have failed or timed out", "torch ProcessGroupNCCL.cpp"},
	{RH_BLAME_LATE, false, "NCCL", "ProcessGroupNCCL's watchdog got stuck", "torch ProcessGroupNCCL.cpp"},
	{RH_BLAME_VICTIM, false, "NCCL", "Observed flight recorder dump signal from another rank",
     "torch ProcessGroupNCCL.cpp"},
	{RH_BLAME_UNREACHED, false, "PyTorch", "The client socket has timed out after",
     "torch/csrc/distributed/c10d/socket.cpp"},
	{RH_BLAME_UNREACHED, false, "PyTorch", "The client socket has failed to connect",
     "torch/csrc/distributed/c10d/socket.cpp"},
	{RH_BLAME_VICTIM, false, "PyTorch", "Connection was likely closed", "torch/csrc/distributed/c10d/TCPStore.cpp"},
	{RH_BLAME_VICTIM, false, "PyTorch", "Failed to recv, got 0 bytes", "torch/csrc/distributed/c10d/Utils.hpp"},
	{RH_BLAME_LATE, false, "PyTorch", "Socket Timeout", "torch/csrc/distributed/c10d/TCPStore.cpp"},
	{RH_BLAME_LATE, false, "PyTorch", "wait timeout after", "torch/csrc/distributed/c10d/TCPStoreLibUvBackend.cpp"},
	{RH_BLAME_LATE, false, "PyTorch", "DistStoreError: ", "torch/csrc/Exceptions.h"},
	{RH_BLAME_VICTIM, false, "PyTorch", "DistNetworkError: ", "torch/csrc/Exceptions.h"},
	{RH_BLAME_LATE, false, "PyTorch", "RendezvousTimeoutError", "torch/distributed/elastic/rendezvous/api.py"},
	{RH_BLAME_UNREACHED, false, "PyTorch", "RendezvousConnectionError", "torch/distributed/elastic/rendezvous/api.py"},
	{RH_BLAME_VICTIM, false, "PyTorch", "RendezvousClosedError", "torch/distributed/elastic/rendezvous/api.py"},
	{RH_BLAME_VICTIM, false, "PyTorch", "RendezvousGracefulExitError", "torch/distributed/elastic/rendezvous/api.py"},
	{RH_BLAME_VICTIM, false, "TensorFlow", "UnavailableError", "tensorflow/python/framework/errors_impl.py"},
	{RH_BLAME_VICTIM, false, "TensorFlow", "UNAVAILABLE: ", "absl/status/status.cc"},
	{RH_BLAME_LATE, false, "TensorFlow", "DEADLINE_EXCEEDED: ", "absl/status/status.cc"},
	{RH_BLAME_LATE, false, "TensorFlow", "DeadlineExceededError", "tensorflow/python/framework/errors_impl.py"},
	{RH_BLAME_VICTIM, false, "TensorFlow", "Collective ops is aborted by", "tensorflow base_collective_executor.cc"},
	{RH_BLAME_VICTIM, false, "TensorFlow", "CoordinationServiceError", "tsl coordination_service_error_util.cc"},
	{RH_BLAME_VICTIM, false, "TensorFlow", "coordination service", "tsl coordination_service_agent.cc"},
	{RH_BLAME_VICTIM, false, "JAX", "distributed service detected fatal errors", "xla/pjrt/distributed/client.h"},
	{RH_BLAME_VICTIM, false, "Horovod", "HorovodInternalError", "horovod/common/exceptions.py"},
	{RH_BLAME_VICTIM, false, "Horovod", "Horovod has been shut down", "horovod/common/common.h"},
	{RH_BLAME_VICTIM, false, "Open MPI", "ORTE has lost communication with a remote daemon", "orte/mca/errmgr"},
	{RH_BLAME_VICTIM, false, "Open MPI", "MPI_ERR_PROC_FAILED", "ompi/mpiext/ftmpi"},
	{RH_BLAME_VICTIM, false, "Python", "ConnectionResetError", "Objects/exceptions.c"},
	{RH_BLAME_UNREACHED, false, "Python", "ConnectionRefusedError", "Objects/exceptions.c"},
	{RH_BLAME_VICTIM, false, "Python", "ConnectionAbortedError", "Objects/exceptions.c"},
	{RH_BLAME_VICTIM, false, "Python", "BrokenPipeError", "Objects/exceptions.c"},
	{RH_BLAME_VICTIM, false, "any", "Connection reset by peer", "strerror(ECONNRESET)"},
	{RH_BLAME_UNREACHED, false, "any", "Connection refused", "strerror(ECONNREFUSED)"},
	{RH_BLAME_VICTIM, false, "any", "Broken pipe", "strerror(EPIPE)"},
	{RH_BLAME_VICTIM, false, "any", "Socket closed", "grpc/src/core/lib/iomgr/tcp_posix.cc"},

	/* launchers that report the end of others */
	{RH_BLAME_SUMMARY, false, "PyTorch", "ChildFailedError",
     "torch/distributed/elastic/multiprocessing/errors/__init__.py"},
	{RH_BLAME_SUMMARY, false, "PyTorch", "Root Cause (first observed failure)",
     "torch/distributed/elastic/multiprocessing/errors"},
	{RH_BLAME_SUMMARY, false, "PyTorch", "ProcessExitedException", "torch/multiprocessing/spawn.py"},
	{RH_BLAME_SUMMARY, false, "PyTorch",
     "torch/distributed/elastic/multiprocessing/api.py:", "torch/distributed/elastic/multiprocessing/api.py"},
	{RH_BLAME_SUMMARY, false, "PyTorch", "torch.distributed.elastic",
     "torch/distributed/elastic/multiprocessing/api.py"},
	{RH_BLAME_SUMMARY, false, "accelerate", "subprocess.CalledProcessError", "accelerate/commands/launch.py"},
	{RH_BLAME_SUMMARY, false, "DeepSpeed", "exits with return code = ", "deepspeed/launcher/launch.py"},
	{RH_BLAME_SUMMARY, false, "Open MPI", "noticed that process rank ", "orte/tools/orterun/help-orterun.txt"},
	{RH_BLAME_SUMMARY, false, "Open MPI", "Primary job  terminated normally, but",
     "orte/tools/orterun/help-orterun.txt"},
	{RH_BLAME_SUMMARY, false, "Open MPI", "detected that one or more processes exited",
     "orte/tools/orterun/help-orterun.txt"},
	{RH_BLAME_SUMMARY, false, "Open MPI", "MPI_ABORT was invoked on rank ", "ompi/mpi/help/help-mpi-api.txt"},
	{RH_BLAME_SUMMARY, false, "Open MPI", "An MPI communication peer process has unexpectedly",
     "ompi/mca/btl/tcp/help-mpi-btl-tcp.txt"},
	{RH_BLAME_SUMMARY, false, "Intel MPI", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "mpich hydra"},
};

const struct rh_evidence_row *rh_evidence_row(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(evidence_rows) / sizeof(*evidence_rows); i++) {
		const struct rh_evidence_row *row = &evidence_rows[i];

		if (memmem(text, length, row->text, strlen(row->text)))
			return row;
	}
	return NULL;
}
