/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "comm/mpi/mpi.h"

/* Open MPI has it; other implementations may allow less, or more than an int can shift. */
#define TAG_BITS_MAX 31
#define TAG_BITS_MIN (MPI_CONTEXT_BITS + 17)

struct mpi_process *mpi_process(void)
{
	/* MPI itself is once in a process, and not again after its end */
	static struct mpi_process process = {.lock = PTHREAD_MUTEX_INITIALIZER};

	return &process;
}

int32_t mpi_fail(const struct rh_comm_team *team, int32_t code, int32_t rank, const char *what, int status)
{
	char words[MPI_MAX_ERROR_STRING] = "";
	char text[400];
	int length = 0;

	(void)MPI_Error_string(status, words, &length);
	(void)snprintf(text, sizeof(text), "%s: %.300s", what, words);
	return team->fail(team->core, code, rank, text);
}

static void process_end(void)
{
	int ended = 1;

	/* its end makes progress, into buffers that are gone: mpirun is to see that this process failed */
	if (atomic_load(&mpi_process()->unstable))
		return;
	if (MPI_Finalized(&ended) == MPI_SUCCESS && !ended)
		(void)MPI_Finalize();
}

/* What Open MPI copies through the kernel is slower than through shared memory; what the user has set stays. */
static void process_configure(void)
{
	(void)setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
	(void)setenv("OMPI_MCA_btl_sm_use_cma", "0", 0);
	(void)setenv("OMPI_MCA_smsc", "^cma,knem", 0);
}

static int32_t process_init(const struct rh_comm_team *team)
{
	int level = MPI_THREAD_SINGLE;
	int started = 0;
	int status = MPI_Initialized(&started);

	if (status != MPI_SUCCESS || started)
		return 0;
	process_configure();
	status = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
	if (status != MPI_SUCCESS)
		return mpi_fail(team, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "MPI cannot start", status);
	(void)atexit(process_end);
	if (level < MPI_THREAD_SERIALIZED)
		return team->fail(team->core, RH_COMM_EBACKEND, RH_COMM_NO_RANK,
		                  "this MPI was built without MPI_THREAD_SERIALIZED");
	return 0;
}

static int32_t process_find_tag_bits(struct mpi_process *process)
{
	int *most = NULL;
	int found = 0;
	int32_t bits = 0;

	if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&most, &found) != MPI_SUCCESS || !found)
		return RH_COMM_ENOTSUP;
	while (bits < TAG_BITS_MAX && *most >> bits > 0)
		bits++;
	process->tag_bits = bits - MPI_CONTEXT_BITS;
	return bits >= TAG_BITS_MIN ? 0 : RH_COMM_ENOTSUP;
}

/* Ours alone, so that no tag meets one of the program's; what fails is returned, not the end of the process. */
static int32_t process_connect(const struct rh_comm_team *team, struct mpi_process *process)
{
	int size = 0;
	int status = MPI_Comm_size(MPI_COMM_WORLD, &size);
	char text[160];

	if (status == MPI_SUCCESS && size != team->world) {
		(void)snprintf(text, sizeof(text), "the launcher started %d processes, the world has %d ranks", size,
		               (int)team->world);
		return team->fail(team->core, RH_COMM_EINVAL, RH_COMM_NO_RANK, text);
	}
	if (process_find_tag_bits(process) < 0)
		return team->fail(team->core, RH_COMM_ENOTSUP, RH_COMM_NO_RANK, "the tags of this MPI are too short");
	if (!process->taken)
		process->taken = calloc((size_t)size, sizeof(*process->taken));
	if (!process->taken)
		return RH_COMM_ENOMEM;
	status = MPI_Comm_dup(MPI_COMM_WORLD, &process->messages);
	if (status == MPI_SUCCESS)
		status = MPI_Comm_dup(MPI_COMM_WORLD, &process->collectives);
	if (status != MPI_SUCCESS)
		return mpi_fail(team, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "no communicator", status);
	(void)MPI_Comm_set_errhandler(process->messages, MPI_ERRORS_RETURN);
	(void)MPI_Comm_set_errhandler(process->collectives, MPI_ERRORS_RETURN);
	process->ready = true;
	return 0;
}

int32_t mpi_process_start(const struct rh_comm_team *team, struct mpi_process *process)
{
	int32_t r = 0;

	(void)pthread_mutex_lock(&process->lock);
	if (!process->ready)
		r = process_init(team);
	if (r == 0 && !process->ready)
		r = process_connect(team, process);
	(void)pthread_mutex_unlock(&process->lock);
	return r;
}

int32_t mpi_process_take(const struct mpi *mpi)
{
	struct mpi_process *process = mpi->process;
	uint64_t taken = 0;
	int32_t number = 0;

	(void)pthread_mutex_lock(&process->lock);
	for (int32_t rank = 0; rank < mpi->team->world; rank++)
		taken |= rank == mpi->team->rank ? 0 : process->taken[mpi->peers[rank].rank];
	while (number < 1 << MPI_CONTEXT_BITS && (taken >> number & 1) != 0)
		number++;
	if (number == 1 << MPI_CONTEXT_BITS)
		number = RH_COMM_ENOTSUP;
	for (int32_t rank = 0; rank < mpi->team->world && number >= 0; rank++)
		process->taken[mpi->peers[rank].rank] |= UINT64_C(1) << number;
	(void)pthread_mutex_unlock(&process->lock);
	return number;
}

void mpi_process_give(const struct mpi *mpi)
{
	struct mpi_process *process = mpi->process;

	(void)pthread_mutex_lock(&process->lock);
	for (int32_t rank = 0; rank < mpi->team->world; rank++)
		process->taken[mpi->peers[rank].rank] &= ~(UINT64_C(1) << mpi->number);
	(void)pthread_mutex_unlock(&process->lock);
}
