/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/scheduler/place.h
 * @brief Where a server listens, as it crosses the wire. Text is read where users write it, and nowhere else.
 */
#ifndef RH_COMM_PS_SCHEDULER_PLACE_H
#define RH_COMM_PS_SCHEDULER_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** Room for the name of a host. */
#define RH_PS_HOST_MAX 256
/** Room for an address as text: the name, brackets, a colon and the port. */
#define RH_PS_PLACE_TEXT (RH_PS_HOST_MAX + 16)

/** Address of a server; payload of PLACE, and of PLACES one for each server. */
struct rh_ps_place {
	char host[RH_PS_HOST_MAX]; /**< of PLACE, "": the address from which it connects */
	int32_t port;              /**< 0: not known */
	int32_t reserved;
};

/** @return whether an address that was received names a host and a port */
bool rh_ps_place_is_sane(const struct rh_ps_place *place);
/** @return whether both are the same address */
bool rh_ps_place_equal(const struct rh_ps_place *a, const struct rh_ps_place *b);
/** Set it. A name that is too long is cut off. @param host NULL: "" */
void rh_ps_place_set(struct rh_ps_place *ret_place, const char *host, int32_t port);
/** Write it for a message, as users write it. @param[out] ret_text RH_PS_PLACE_TEXT bytes */
void rh_ps_place_print(const struct rh_ps_place *place, char *ret_text);
/** Read "host:port", or "[::1]:port", of @p length bytes. @return 0 or RH_COMM_EINVAL */
int32_t rh_ps_place_read(const char *text, size_t length, struct rh_ps_place *ret_place, struct rh_comm_error *err);
/**
 * Read the addresses of all servers: "host:port,host:port".
 * @param[out] ret_places owned by the caller. @return 0; RH_COMM_EINVAL: one is malformed, or they are too many;
 * RH_COMM_ENOMEM
 */
int32_t rh_ps_places_read(const char *text, struct rh_ps_place **ret_places, int32_t *ret_count,
                          struct rh_comm_error *err);

#endif
