/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/fabric.h
 * @brief A backend of rh_comm as the transport between a worker and a server.
 *
 * Each pair has a context of its own, of two ranks: server 0, worker 1. So the death of one does not affect other
 * pairs, and a worker that comes back opens a new one. The pair's connection carries what a backend publishes.
 */
#ifndef RH_COMM_PS_PROTOCOL_FABRIC_H
#define RH_COMM_PS_PROTOCOL_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/core/loader.h"
#include "comm/ps/protocol/device.h"
#include "comm/ps/protocol/wire.h"

/** Room for the name of a backend. */
#define RH_PS_BACKEND_MAX RH_COMM_NAME_MAX
/** The name for no backend: our own shared memory and TCP. */
#define RH_PS_BACKEND_OWN "own"

/** The backend of a process. All zero is none. */
struct rh_ps_fabric {
	struct rh_comm_module module;
	struct rh_ps_device device; /**< of a backend that moves memory of devices alone */
};

/** Payload of CONNECT. */
struct rh_ps_fabric_hello {
	int32_t near; /**< not 0: the worker shares memory with the server */
	int32_t reserved;
};

/** One connection over the backend. */
struct rh_ps_fabric_plan {
	const struct rh_ps_fabric *fabric;
	bool server; /**< which of the two this is */
	bool near;   /**< both share memory */
	int64_t deadline;
	int64_t death_timeout;
};

/**
 * Load the backend @p name. rh_ps_launch_open() must start MPI before any record is sent over it.
 * @param name RH_PS_BACKEND_OWN: nothing is to be loaded. @return 0; RH_COMM_EINVAL: it is not available, and why
 */
int32_t rh_ps_fabric_open(struct rh_ps_fabric *ret_fabric, const char *name, struct rh_comm_error *err);
/** Unload it; no wire may use it any more. */
void rh_ps_fabric_close(struct rh_ps_fabric *fabric);
/** @return whether there is a backend */
bool rh_ps_fabric_is_on(const struct rh_ps_fabric *fabric);
/**
 * Open the backend together with the other end of @p wire, a connection that nobody else uses meanwhile, and let the
 * wire go on over it. Blocks until the deadline at most.
 * @return 0; RH_COMM_E*: with the reason of either end, and the wire is of no use any more
 */
int32_t rh_ps_fabric_connect(struct rh_ps_wire *wire, const struct rh_ps_fabric_plan *plan, struct rh_comm_error *err);

#endif
