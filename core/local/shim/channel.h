/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/channel.h
 * @brief The shim's end of the channel: sends reports and nudges, receives commands. For the shim alone.
 */
#ifndef RH_LOCAL_SHIM_CHANNEL_H
#define RH_LOCAL_SHIM_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "local/shim.h"

/** The channel. */
struct rh_shim_channel {
	int fd;      /**< -1: the other end is closed */
	bool nudged; /**< the last line sent is empty */
	struct rh_str unsent;
	uint8_t input[sizeof(struct rh_shim_stop)]; /**< start of an incomplete command */
	size_t input_length;
};

/** Called for each command. @param grace as in struct rh_shim_stop */
typedef void rh_shim_stop_fn(void *arg, int64_t grace);

/** Close the channel and free what it owns. */
void rh_shim_channel_deinit(struct rh_shim_channel *line);
/** Send a report about a container. Never blocks. */
void rh_shim_channel_report(struct rh_shim_channel *line, const struct rh_shim_report *report);
/** Send a note for the user; does nothing for "". */
void rh_shim_channel_note(struct rh_shim_channel *line, const char *text);
/** Report that logs have grown, unless an unread empty line reports it already. */
void rh_shim_channel_nudge(struct rh_shim_channel *line);
/** Send pending data. Never blocks. */
void rh_shim_channel_flush(struct rh_shim_channel *line);
/** Read and process commands. Never blocks. @return false when the other end is closed; then the channel is closed, too
 */
bool rh_shim_channel_receive(struct rh_shim_channel *line, rh_shim_stop_fn *stop, void *arg);

#endif
