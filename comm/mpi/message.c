/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>

#include "comm/mpi/mpi.h"

/* What the core's tags are made of (comm_backend.h). */
#define TAG_COLLECTIVE (UINT64_C(1) << 63)
#define TAG_BLOCK_BITS 24
#define TAG_BLOCK_MASK ((UINT64_C(1) << TAG_BLOCK_BITS) - 1)
/* Bits of a block's number that are kept; far fewer blocks are under way at once. */
#define BLOCK_BITS 6
/* A message of more bytes than an int can count is sent in parts of this many bytes. */
#define PIECE (1 << 20)

/* @return the tag of MPI; negative: it does not fit */
static int32_t message_tag(const struct mpi_process *process, int32_t number, uint64_t tag)
{
	uint64_t mask = (UINT64_C(1) << process->tag_bits) - 1;
	uint64_t body = tag;

	if (tag & TAG_COLLECTIVE)
		body = (tag >> TAG_BLOCK_BITS << BLOCK_BITS | (tag & ((1 << BLOCK_BITS) - 1))) & mask;
	if (body > mask)
		return RH_COMM_ENOTSUP;
	return (int32_t)((uint64_t)number << process->tag_bits | body);
}

static MPI_Comm message_comm(const struct mpi_process *process, uint64_t tag)
{
	return tag & TAG_COLLECTIVE ? process->collectives : process->messages;
}

static struct mpi_work *work_new(struct mpi *mpi, int32_t peer, size_t length, bool receives)
{
	struct mpi_work *work = mpi->spare;

	if (work)
		mpi->spare = work->next;
	else
		work = malloc(sizeof(*work));
	if (!work)
		return NULL;
	*work = (struct mpi_work){.kind = NATIVE_MESSAGE,
	                          .next = mpi->works,
	                          .link = &mpi->works,
	                          .request = MPI_REQUEST_NULL,
	                          .length = length,
	                          .peer = peer,
	                          .receives = receives};
	if (work->next)
		work->next->link = &work->next;
	mpi->works = work;
	return work;
}

static void work_free(struct mpi *mpi, struct mpi_work *work)
{
	*work->link = work->next;
	if (work->next)
		work->next->link = work->link;
	work->next = mpi->spare;
	mpi->spare = work;
}

void mpi_free_works(struct mpi *mpi)
{
	while (mpi->works)
		work_free(mpi, mpi->works);
	while (mpi->spare) {
		struct mpi_work *work = mpi->spare;

		mpi->spare = work->next;
		free(work);
	}
}

/* A type of `length` bytes, for what an int cannot count. */
static int message_type(size_t length, MPI_Datatype *ret_type)
{
	int lengths[] = {(int)(length / PIECE), (int)(length % PIECE)};
	MPI_Aint places[] = {0, (MPI_Aint)(length - length % PIECE)};
	MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_BYTE};
	int status = MPI_Type_contiguous(PIECE, MPI_BYTE, &types[0]);

	if (status == MPI_SUCCESS)
		status = MPI_Type_create_struct(2, lengths, places, types, ret_type);
	if (status == MPI_SUCCESS)
		status = MPI_Type_commit(ret_type);
	if (types[0] != MPI_DATATYPE_NULL)
		(void)MPI_Type_free(&types[0]);
	return status;
}

/* A message as MPI is to have it. */
struct call {
	void *data;
	int rank;
	int tag;
	MPI_Comm comm;
	bool far;
};

/*
 * MPI may count a send as done that it has only queued, and nothing would move it while this rank computes: to another
 * host it is done when it has arrived.
 */
static int message_call(const struct call *call, struct mpi_work *work)
{
	bool large = work->length > INT_MAX;
	int count = large ? 1 : (int)work->length;
	MPI_Datatype type = MPI_BYTE;
	int status = large ? message_type(work->length, &type) : MPI_SUCCESS;

	if (status != MPI_SUCCESS)
		return status;
	if (work->receives)
		status = MPI_Irecv(call->data, count, type, call->rank, call->tag, call->comm, &work->request);
	else if (call->far)
		status = MPI_Issend(call->data, count, type, call->rank, call->tag, call->comm, &work->request);
	else
		status = MPI_Isend(call->data, count, type, call->rank, call->tag, call->comm, &work->request);
	if (large)
		(void)MPI_Type_free(&type);
	return status;
}

static int32_t message_post(struct mpi *mpi, const struct call *call, struct mpi_work *work)
{
	int status;
	int32_t peer = work->peer;

	(void)pthread_mutex_lock(&mpi->process->lock);
	status = message_call(call, work);
	(void)pthread_mutex_unlock(&mpi->process->lock);
	if (status == MPI_SUCCESS)
		return 0;
	work_free(mpi, work);
	return mpi_fail(mpi->team, RH_COMM_EBACKEND, peer, "a message cannot be posted", status);
}

static int32_t message_refuse_tag(const struct mpi *mpi)
{
	return mpi->team->fail(mpi->team->core, RH_COMM_ENOTSUP, RH_COMM_NO_RANK,
	                       "the tag of a message is too large for this MPI; use tags below 131072");
}

int32_t mpi_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work)
{
	struct mpi *mpi = self;
	const struct mpi_peer *to = &mpi->peers[peer];
	/* MPI only reads what it sends, although the type is not const here */
	struct call call = {.data = (void *)(uintptr_t)data,
	                    .rank = to->rank,
	                    .tag = message_tag(mpi->process, to->number, tag),
	                    .comm = message_comm(mpi->process, tag),
	                    .far = mpi->team->hosts[peer] != mpi->team->hosts[mpi->team->rank]};
	struct mpi_work *work = call.tag < 0 ? NULL : work_new(mpi, peer, length, false);
	int32_t r;

	*ret_work = NULL;
	if (!work)
		return call.tag < 0 ? message_refuse_tag(mpi) : RH_COMM_ENOMEM;
	r = message_post(mpi, &call, work);
	if (r == 0)
		*ret_work = work;
	return r; /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker): it is waited for in mpi_test() */
}

int32_t mpi_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work)
{
	struct mpi *mpi = self;
	struct call call = {.data = data,
	                    .rank = mpi->peers[peer].rank,
	                    .tag = message_tag(mpi->process, mpi->number, tag),
	                    .comm = message_comm(mpi->process, tag)};
	struct mpi_work *work = call.tag < 0 ? NULL : work_new(mpi, peer, length, true);
	int32_t r;

	*ret_work = NULL;
	if (!work)
		return call.tag < 0 ? message_refuse_tag(mpi) : RH_COMM_ENOMEM;
	r = message_post(mpi, &call, work);
	if (r == 0)
		*ret_work = work;
	return r; /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker): it is waited for in mpi_test() */
}

int32_t mpi_find(void *self, int32_t first, uint64_t tag, int32_t *ret_peer)
{
	struct mpi *mpi = self;
	int32_t world = mpi->team->world;
	int32_t number = message_tag(mpi->process, mpi->number, tag);
	int status = MPI_SUCCESS;
	int found = 0;

	if (atomic_load_explicit(&mpi->aborted, memory_order_relaxed))
		return RH_COMM_EABORTED;
	if (number < 0)
		return message_refuse_tag(mpi);
	mpi->listens = true;
	/* its holder makes progress for all */
	if (pthread_mutex_trylock(&mpi->process->lock) != 0)
		return RH_COMM_BUSY;
	for (int32_t i = 0; i < world && status == MPI_SUCCESS && !found; i++) {
		*ret_peer = (first + i) % world;
		if (*ret_peer != mpi->team->rank)
			status = MPI_Iprobe(mpi->peers[*ret_peer].rank, number, message_comm(mpi->process, tag), &found,
			                    MPI_STATUS_IGNORE);
	}
	(void)pthread_mutex_unlock(&mpi->process->lock);
	if (status != MPI_SUCCESS)
		return mpi_fail(mpi->team, RH_COMM_EBACKEND, *ret_peer, "MPI_Iprobe fails", status);
	return found ? 0 : RH_COMM_BUSY;
}

/* Its result, with a message when it failed. */
static int32_t work_end(struct mpi *mpi, struct mpi_work *work, int status, const MPI_Status *about)
{
	int32_t peer = work->peer;
	size_t expected = work->length;
	bool receives = work->receives;
	MPI_Count length = 0;
	int class = MPI_SUCCESS;

	mpi->moved = true;
	work_free(mpi, work);
	if (status != MPI_SUCCESS)
		(void)MPI_Error_class(status, &class);
	if (status == MPI_SUCCESS && receives)
		(void)MPI_Get_elements_x(about, MPI_BYTE, &length);
	if (class == MPI_ERR_TRUNCATE || (status == MPI_SUCCESS && receives && (size_t)length != expected))
		return mpi->team->fail(mpi->team->core, RH_COMM_EINVAL, peer,
		                       "a message has another length than the receiver expects");
	if (status == MPI_SUCCESS)
		return 0;
	return mpi_fail(mpi->team, RH_COMM_EBACKEND, peer, "a message failed", status);
}

/* Receives that nothing has come for yet can be taken back; the rest moves only in calls of MPI. */
static void mpi_let_go(struct mpi *mpi)
{
	if (mpi->quiesced)
		return;
	mpi->quiesced = true;
	atomic_store(&mpi->process->unstable, true);
	(void)pthread_mutex_lock(&mpi->process->lock);
	for (struct mpi_work *work = mpi->works; work; work = work->next) {
		if (work->receives && work->request != MPI_REQUEST_NULL)
			(void)MPI_Cancel(&work->request);
		if (work->request != MPI_REQUEST_NULL)
			(void)MPI_Request_free(&work->request);
	}
	(void)pthread_mutex_unlock(&mpi->process->lock);
}

int32_t mpi_test_message(struct mpi *mpi, struct mpi_work *message)
{
	MPI_Status about;
	int done = 0;
	int status;

	if (atomic_load_explicit(&mpi->aborted, memory_order_relaxed)) {
		mpi_let_go(mpi);
		work_free(mpi, message);
		return RH_COMM_EABORTED;
	}
	/* its holder makes progress for all */
	if (pthread_mutex_trylock(&mpi->process->lock) != 0)
		return RH_COMM_BUSY;
	status = MPI_Test(&message->request, &done, &about);
	(void)pthread_mutex_unlock(&mpi->process->lock);
	if (status == MPI_SUCCESS && !done)
		return RH_COMM_BUSY;
	return work_end(mpi, message, status, &about);
}
