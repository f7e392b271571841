/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/mpi/mpi.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEY_ROOM 32
/* After so many pauses in a row without a message, each is so many nanoseconds long. */
#define PATIENCE 2000
#define NAP 200000
/* The ticket of a sleep in which messages are under way. */
#define TICKET_MESSAGES (UINT64_C(1) << 32)

static bool probe_has_launcher(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (getenv(names[i]))
			return true;
	}
	return false;
}

/* Without a launcher each process would be a world of its own. @return what is wrong, or NULL */
static const char *probe_find_fault(int32_t world)
{
	const char *size = getenv("OMPI_COMM_WORLD_SIZE");
	int started = 0;
	int ended = 0;
	int level = 0;

	if (world > 1 && !probe_has_launcher())
		return "no launcher of MPI (mpirun) started this process";
	if (size && strtol(size, NULL, 10) != world)
		return "mpirun started another number of processes than the world has ranks";
	if (MPI_Finalized(&ended) != MPI_SUCCESS || ended)
		return "MPI has ended in this process";
	if (MPI_Initialized(&started) != MPI_SUCCESS || !started)
		return NULL;
	/* the program's own calls and ours may meet */
	if (MPI_Query_thread(&level) != MPI_SUCCESS || (level < MPI_THREAD_MULTIPLE && !mpi_process()->ready))
		return "the program started MPI without MPI_THREAD_MULTIPLE";
	return NULL;
}

static int32_t mpi_probe(int32_t rank, int32_t world, char *why, size_t room)
{
	const char *fault = probe_find_fault(world);

	(void)rank;
	if (!fault)
		return 0;
	(void)snprintf(why, room, "%s", fault);
	return RH_COMM_ENOTSUP;
}

static void mpi_close(void *self)
{
	struct mpi *mpi = self;

	if (atomic_load(&mpi->aborted))
		atomic_store(&mpi->process->unstable, true);
	mpi_free_works(mpi);
	native_shm_queue_deinit(&mpi->queue);
	native_segment_close(&mpi->segment);
	/* what is still under way bears the number of an aborted context: it is not used again */
	if (mpi->number >= 0 && !atomic_load(&mpi->aborted))
		mpi_process_give(mpi);
	free(mpi->peers);
	free(mpi);
}

/* Give all ranks this one's value, and take theirs. */
static int32_t open_exchange(const struct mpi *mpi, const char *what, int32_t *values)
{
	const struct rh_comm_team *team = mpi->team;
	char key[KEY_ROOM];
	int32_t r;

	(void)snprintf(key, sizeof(key), "mpi/%s/%d", what, (int)team->rank);
	r = team->put(team->core, key, &values[team->rank], sizeof(*values));
	for (int32_t rank = 0; rank < team->world && r == 0; rank++) {
		int64_t n;

		(void)snprintf(key, sizeof(key), "mpi/%s/%d", what, (int)rank);
		n = team->get(team->core, key, &values[rank], sizeof(*values));
		r = n < 0 ? (int32_t)n : 0;
	}
	return r;
}

static int32_t open_find_ranks(struct mpi *mpi, int32_t *values)
{
	int rank = 0;
	int32_t r;

	(void)pthread_mutex_lock(&mpi->process->lock);
	(void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	(void)pthread_mutex_unlock(&mpi->process->lock);
	values[mpi->team->rank] = rank;
	r = open_exchange(mpi, "rank", values);
	for (int32_t i = 0; i < mpi->team->world && r == 0; i++)
		mpi->peers[i].rank = values[i];
	return r;
}

static int32_t open_find_numbers(struct mpi *mpi, int32_t *values)
{
	const struct rh_comm_team *team = mpi->team;
	int32_t r;

	mpi->number = mpi_process_take(mpi);
	if (mpi->number < 0)
		return team->fail(
			team->core, RH_COMM_ENOTSUP, RH_COMM_NO_RANK,
			"this process has 64 contexts open with one and the same rank, which is all that there can be; "
			"free some, or use another backend");
	values[team->rank] = mpi->number;
	r = open_exchange(mpi, "number", values);
	for (int32_t i = 0; i < team->world && r == 0; i++)
		mpi->peers[i].number = values[i];
	return r;
}

static int32_t open_connect(struct mpi *mpi)
{
	const struct rh_comm_team *team = mpi->team;
	int32_t *values = calloc((size_t)team->world, sizeof(*values));
	int32_t r = values ? mpi_process_start(team, mpi->process) : RH_COMM_ENOMEM;

	if (r == 0)
		r = open_find_ranks(mpi, values);
	if (r == 0)
		r = open_find_numbers(mpi, values);
	free(values);
	if (r == 0 && team->world > 1 && team->local_world == team->world)
		r = native_segment_open(team, false, &mpi->segment);
	return r;
}

static int32_t mpi_open(const struct rh_comm_team *team, void **ret_self)
{
	struct mpi *mpi = calloc(1, sizeof(*mpi));
	int32_t r;

	if (!mpi)
		return RH_COMM_ENOMEM;
	mpi->team = team;
	mpi->process = mpi_process();
	mpi->number = -1;
	native_shm_queue_init(&mpi->queue, team, &mpi->segment);
	mpi->peers = calloc((size_t)team->world, sizeof(*mpi->peers));
	r = mpi->peers ? open_connect(mpi) : RH_COMM_ENOMEM;
	if (r < 0) {
		mpi_close(mpi);
		return r;
	}
	*ret_self = mpi;
	return 0;
}

static void mpi_abort(void *self)
{
	struct mpi *mpi = self;

	atomic_store(&mpi->aborted, true);
}

static int32_t mpi_collective(void *self, const struct rh_comm_op *op, uint64_t id, void **ret_work)
{
	struct mpi *mpi = self;
	struct native_shm_task *work = NULL;
	int32_t r;

	if (!native_shm_queue_supports(&mpi->queue, op))
		return RH_COMM_ENOTSUP;
	r = native_shm_queue_post(&mpi->queue, op, id, &work);
	*ret_work = work;
	return r;
}

static int32_t mpi_test(void *self, void *work)
{
	struct mpi *mpi = self;

	if (*(enum native_kind *)work == NATIVE_MESSAGE)
		return mpi_test_message(mpi, work);
	/* it moves only in here, and is freed with the context */
	if (atomic_load_explicit(&mpi->aborted, memory_order_relaxed))
		return RH_COMM_EABORTED;
	return native_shm_queue_test(&mpi->queue, work);
}

static struct native_wakeup *mpi_own_wakeup(const struct mpi *mpi)
{
	return &native_segment_progress(&mpi->segment, mpi->segment.rank)->wakeup;
}

/* MPI has nothing to sleep on, and moves bytes only when it is called. The ticket shows for how long nothing has
 * arrived. */
static int32_t mpi_arm(void *self, uint64_t *ret_ticket)
{
	struct mpi *mpi = self;

	bool listens = mpi->listens;

	mpi->listens = false;
	if (mpi->segment.base && !mpi->works && !listens) {
		*ret_ticket = native_wakeup_arm(mpi_own_wakeup(mpi));
		return 0;
	}
	mpi->quiet = mpi->moved ? 0 : mpi->quiet + 1;
	mpi->moved = false;
	*ret_ticket = TICKET_MESSAGES + mpi->quiet;
	return 0;
}

/* So the processor is only offered to others for a while, as MPI itself does, and then slept on by the clock. */
static void mpi_pause(void *self, uint64_t ticket, int64_t time)
{
	static const struct timespec nap = {0, NAP};
	const struct mpi *mpi = self;

	if (ticket < TICKET_MESSAGES)
		native_wakeup_wait(mpi_own_wakeup(mpi), (uint32_t)ticket, time);
	else if (ticket < TICKET_MESSAGES + PATIENCE || time * 1000 < NAP)
		(void)sched_yield();
	else
		(void)nanosleep(&nap, NULL);
}

static const struct rh_comm_backend mpi_table = {
	.head = RH_COMM_HEAD(struct rh_comm_backend),
	.name = "mpi",
	.release = "0.1 over Open MPI",
	.memories = RH_COMM_MEMORY_HOST,
	.score = 30,
	.probe = mpi_probe,
	.open = mpi_open,
	.close = mpi_close,
	.send = mpi_send,
	.recv = mpi_recv,
	.collective = mpi_collective,
	.test = mpi_test,
	.abort = mpi_abort,
	.arm = mpi_arm,
	.pause = mpi_pause,
	.find = mpi_find,
};

const struct rh_comm_backend *rh_comm_backend_entry_v0(void)
{
	return &mpi_table;
}
