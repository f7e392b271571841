/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucs/config/global_opts.h>
#include <unistd.h>

#include "comm/ucx/connect.h"
#include "comm/ucx/folder.h"
#include "comm/ucx/message.h"

#define ADDRESS_ROOM (64 * 1024)
#define KEY_ROOM 32
#define ROOM_NAMESPACE 64
/* How long a peer that does not leave is waited for. */
#define CLOSING_TIME (2 * UCX_SECOND)
/* Longest wait between two checks of the other ranks and of the time, microseconds. */
#define OPENING_PAUSE 2000
/* Beyond the tags of messages, which have 32 bits. */
#define OPENING_TAG (UINT64_C(1) << 40)
#define CLOSING_TAG (OPENING_TAG + 1)

/*
 * Copying between processes by the kernel is slower than through shared memory at every size. Where there is TCP beside
 * shared memory, UCX sends large messages over it, even within a host: so it is left out where no rank needs it.
 */
#define TRANSPORTS "^cma,knem"
#define TRANSPORTS_NEAR "^cma,knem,tcp"
/* In a container /dev/shm has 64 MiB, and UCX takes several for each peer: System V's shared memory is not limited by
 * it. */
#define WITHOUT_POSIX ",posix"
/* Over TCP a rendezvous is only a round trip more; the segments of a collective go without. */
#define RENDEZVOUS "512k"

/* Shared memory of UCX needs more than a common /dev/shm: namespaces of processes in common. */
static bool connect_all_near(const struct ucx *ucx)
{
	const struct rh_comm_team *team = ucx->team;
	char own[ROOM_NAMESPACE] = "";
	char other[ROOM_NAMESPACE];
	char key[KEY_ROOM];
	bool same = readlink("/proc/self/ns/pid", own, sizeof(own) - 1) > 0;

	(void)snprintf(key, sizeof(key), "ucx/ns/%d", (int)team->rank);
	if (team->local_world < team->world || team->put(team->core, key, own, sizeof(own)) < 0)
		return false;
	for (int32_t rank = 0; rank < team->world; rank++) {
		(void)snprintf(key, sizeof(key), "ucx/ns/%d", (int)rank);
		if (team->get(team->core, key, other, sizeof(other)) != (int64_t)sizeof(other))
			return false;
		same = same && memcmp(own, other, sizeof(own)) == 0;
	}
	return same;
}

/* UCX reads UCX_* itself; what the user has set there stays. */
static ucs_status_t connect_configure(const struct ucx *ucx, bool near, bool posix, ucp_config_t *config)
{
	const char *own = ucx->team->setting(ucx->team->core, "TLS");
	char transports[40];
	ucs_status_t status = UCS_OK;

	/* it would print of dead peers, and to standard output; we return them as errors */
	if (!getenv("UCX_LOG_LEVEL"))
		(void)ucs_global_opts_set_value("LOG_LEVEL", "fatal");
	/* UCX_POSIX_DIR, which is to have no prefix here */
	if (ucx->folder[0])
		status = ucp_config_modify(config, "DIR", ucx->folder);
	if (status == UCS_OK && !near && !ucx->rdma && !getenv("UCX_RNDV_THRESH"))
		status = ucp_config_modify(config, "RNDV_THRESH", RENDEZVOUS);
	if (status == UCS_OK && own)
		return ucp_config_modify(config, "TLS", own);
	if (status < 0 || getenv("UCX_TLS"))
		return status;
	(void)snprintf(transports, sizeof(transports), "%s%s", near && !ucx->rdma ? TRANSPORTS_NEAR : TRANSPORTS,
	               posix ? "" : WITHOUT_POSIX);
	return ucp_config_modify(config, "TLS", transports);
}

static bool connect_chooses(const struct ucx *ucx)
{
	return !ucx->team->setting(ucx->team->core, "TLS") && !getenv("UCX_TLS");
}

static ucs_status_t connect_init(struct ucx *ucx, bool near, bool posix)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
	                       .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
	                       .estimated_num_eps = (size_t)ucx->team->world};
	ucp_config_t *config = NULL;
	ucs_status_t status = ucp_config_read(NULL, NULL, &config);

	if (status == UCS_OK) {
		status = connect_configure(ucx, near, posix, config);
		if (status == UCS_OK)
			status = ucp_init(&params, config, &ucx->context);
		ucp_config_release(config);
	}
	if (status != UCS_OK)
		ucx->context = NULL;
	return status;
}

static int32_t connect_fail_init(const struct ucx *ucx, ucs_status_t status)
{
	return ucx_fail(ucx, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "UCX cannot start; see UCX_TLS and RH_COMM_UCX_TLS",
	                status);
}

/* Only the names that the user chose are known. @return whether TCP may be among the transports */
static bool connect_may_be_tcp(const struct ucx *ucx, bool chooses, bool near)
{
	const char *own = ucx->team->setting(ucx->team->core, "TLS");
	const char *words = own ? own : getenv("UCX_TLS");

	if (chooses || !words)
		return !near && !ucx->rdma;
	return words[0] == '^' || strstr(words, "tcp") || strstr(words, "all");
}

static int32_t connect_start(struct ucx *ucx)
{
	ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
	                              .thread_mode = UCS_THREAD_MODE_SERIALIZED};
	bool chooses = connect_chooses(ucx);
	bool near = chooses && connect_all_near(ucx);
	ucs_status_t status = connect_init(ucx, near, true);

	ucx->holds = connect_may_be_tcp(ucx, chooses, near);
	if (status != UCS_OK)
		return connect_fail_init(ucx, status);
	status = ucp_worker_create(ucx->context, &worker, &ucx->worker);
	if (status != UCS_OK && chooses) {
		ucp_cleanup(ucx->context);
		status = connect_init(ucx, near, false);
		if (status != UCS_OK)
			return connect_fail_init(ucx, status);
		status = ucp_worker_create(ucx->context, &worker, &ucx->worker);
	}
	if (status == UCS_OK)
		return 0;
	ucx->worker = NULL;
	return ucx_fail(ucx, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "no UCX worker; /dev/shm may be full", status);
}

static int32_t connect_publish(const struct ucx *ucx)
{
	ucp_address_t *address = NULL;
	size_t length = 0;
	char key[KEY_ROOM];
	int32_t r;
	ucs_status_t status = ucp_worker_get_address(ucx->worker, &address, &length);

	if (status != UCS_OK)
		return ucx_fail(ucx, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "no UCX address", status);
	(void)snprintf(key, sizeof(key), "ucx/%d", (int)ucx->team->rank);
	r = ucx->team->put(ucx->team->core, key, address, length);
	ucp_worker_release_address(ucx->worker, address);
	return r;
}

static void connect_broke(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	struct ucx_peer *peer = arg;

	(void)ep;
	peer->broken = status;
}

/* Shared memory knows no failing peer, and to ask for that would rule it out: there the core's liveness must do. */
static ucs_status_t connect_endpoint(struct ucx *ucx, struct ucx_peer *peer, const void *address)
{
	ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, .address = address};

	if (peer->far) {
		params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
		params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
		params.err_handler = (ucp_err_handler_t){.cb = connect_broke, .arg = peer};
	}
	return ucp_ep_create(ucx->worker, &params, &peer->ep);
}

static int32_t connect_peer(struct ucx *ucx, int32_t rank, char *address)
{
	const struct rh_comm_team *team = ucx->team;
	struct ucx_peer *peer = &ucx->peers[rank];
	char key[KEY_ROOM];
	ucs_status_t status;
	int64_t n;

	(void)snprintf(key, sizeof(key), "ucx/%d", (int)rank);
	n = team->get(team->core, key, address, ADDRESS_ROOM);
	if (n < 0)
		return (int32_t)n;
	peer->far = team->hosts[rank] != team->hosts[team->rank];
	status = connect_endpoint(ucx, peer, address);
	if (status == UCS_OK)
		return 0;
	peer->ep = NULL;
	return ucx_fail(ucx, RH_COMM_EBACKEND, rank, "UCX finds no transport to it", status);
}

/* Exchange a message of nothing with every rank on another host. @return whether all went through, in time and alive */
static bool connect_exchange_empty(struct ucx *ucx, uint64_t tag, int64_t until)
{
	char nothing = 0;
	void *work;

	for (int32_t rank = 0; rank < ucx->team->world; rank++) {
		if (!ucx->peers[rank].ep || !ucx->peers[rank].far || ucx->peers[rank].broken != UCS_OK)
			continue;
		(void)ucx_recv(ucx, rank, tag, &nothing, 0, &work);
		(void)ucx_send(ucx, rank, tag, &nothing, 0, &work);
	}
	for (int idle = 0; ucx->works && ucx_now() < until && ucx->team->check(ucx->team->core) == 0;) {
		struct ucx_work *at = ucx->works;

		if (ucp_worker_progress(ucx->worker) == 0)
			ucx_wait(ucx, idle++, OPENING_PAUSE);
		else
			idle = 0;
		while (at) {
			struct ucx_work *next = at->next;

			(void)ucx_message_poll(ucx, at);
			at = next;
		}
	}
	return !ucx->works;
}

int32_t ucx_connect(struct ucx *ucx)
{
	char *address = malloc(ADDRESS_ROOM);
	int32_t r;

	ucx_folder_make(ucx);
	r = address ? connect_start(ucx) : RH_COMM_ENOMEM;
	if (r == 0)
		r = connect_publish(ucx);
	/* not all ranks begin with rank 0 */
	for (int32_t i = 1; i < ucx->team->world && r == 0; i++)
		r = connect_peer(ucx, (ucx->team->rank + i) % ucx->team->world, address);
	free(address);
	/* UCX connects with the first message, for which both ends must make progress: they do so here and now */
	if (r == 0 && !connect_exchange_empty(ucx, OPENING_TAG, ucx->team->deadline))
		r = ucx_fail(ucx, RH_COMM_ETIME, RH_COMM_NO_RANK, "not all ranks were reached in time", UCS_ERR_TIMED_OUT);
	return r;
}

static void disconnect_peer(struct ucx *ucx, struct ucx_peer *peer)
{
	ucp_request_param_t param = {.flags = UCP_EP_CLOSE_FLAG_FORCE};

	if (peer->ep && (peer->broken != UCS_OK || atomic_load(&ucx->aborted)))
		param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
	if (peer->ep)
		ucx_finish(ucx, ucp_ep_close_nbx(peer->ep, &param));
	peer->ep = NULL;
}

/*
 * A socket that is closed while it has unread data makes the system drop what the peer has not
 * read yet: so no end closes before the other has confirmed that it is done.
 */
static void disconnect_part(struct ucx *ucx)
{
	if (!connect_exchange_empty(ucx, CLOSING_TAG, ucx_now() + CLOSING_TIME)) {
		for (struct ucx_work *at = ucx->works; at; at = at->next)
			ucp_request_cancel(ucx->worker, at->request);
	}
	ucx_messages_free(ucx);
}

void ucx_disconnect(struct ucx *ucx)
{
	if (ucx->worker && !atomic_load(&ucx->aborted))
		disconnect_part(ucx);
	/* UCX ends the process when a request is freed after its worker */
	ucx_messages_free(ucx);
	for (int32_t rank = 0; ucx->worker && rank < ucx->team->world; rank++)
		disconnect_peer(ucx, &ucx->peers[rank]);
	if (ucx->worker)
		ucp_worker_destroy(ucx->worker);
	if (ucx->context)
		ucp_cleanup(ucx->context);
	ucx_folder_remove(ucx);
}
