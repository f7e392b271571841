/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/channel.h
 * @brief The shim's end of the lifeline: reports and nudges out, commands in. For the shim alone.
 */
#ifndef RH_LOCAL_SHIM_CHANNEL_H
#define RH_LOCAL_SHIM_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "local/shim.h"

/** The lifeline. */
struct rh_shim_channel {
	int fd;      /**< -1: the other end is gone */
	bool nudged; /**< the last thing said was an empty line */
	struct rh_str unsent;
	struct rh_str heard; /**< start of a line whose end has not come */
};

/** Told of each command: "stop" with its time in microseconds, and "kill" as 0. */
typedef void rh_shim_stop_fn(void *arg, int64_t grace);

/** Close it and free what it holds. */
void rh_shim_channel_deinit(struct rh_shim_channel *line);
/** Say what became of a container. */
void rh_shim_channel_report(struct rh_shim_channel *line, const struct rh_shim_report *report);
/** Say something for the user; "" says nothing. */
void rh_shim_channel_note(struct rh_shim_channel *line, const char *text);
/** Say that logs have grown, unless that was said already and not read yet. */
void rh_shim_channel_nudge(struct rh_shim_channel *line);
/** Send what could not be sent before. Never blocks. */
void rh_shim_channel_flush(struct rh_shim_channel *line);
/** Read what has come. Never blocks. @return false when the other end is gone; the line is closed then */
bool rh_shim_channel_receive(struct rh_shim_channel *line, rh_shim_stop_fn *stop, void *arg);

#endif
