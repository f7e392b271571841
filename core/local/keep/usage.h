/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/usage.h
 * @brief The processes of a run that goes on, and what they use, from /proc.
 */
#ifndef RH_LOCAL_KEEP_USAGE_H
#define RH_LOCAL_KEEP_USAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "local/keep/kept.h"

/** One process. Strings are owned. */
struct rh_usage_process {
	int64_t pid; /**< processes of a struct rh_usage ascend by it */
	int64_t parent;
	int64_t cpu;     /**< time on processors, microseconds */
	int64_t memory;  /**< resident, bytes */
	int64_t read;    /**< from disks, bytes; 0 where the kernel does not show it */
	int64_t written; /**< to disks, bytes; likewise */
	char state;      /**< as in /proc/PID/stat: 'R', 'S', 'D', 'Z', ... */
	char *command;   /**< its arguments; its name in brackets where it has none */
	size_t replica;  /**< index of its replica */
};

/** One replica with a pod. Strings are owned. */
struct rh_usage_replica {
	char *job;
	char *name;                /**< "worker-1" */
	const struct rh_json *row; /**< of its job in the state of the run; borrowed from the run */
	int64_t shim;              /**< process that has all others of the pod below it */
	int64_t last_output;       /**< when a log of it last grew, wall-clock microseconds; 0: it has written nothing */
};

/** All of one run. All zero is empty. */
struct rh_usage {
	struct rh_usage_replica *replicas; /**< by job and name; owned */
	size_t replica_count;
	struct rh_usage_process *processes; /**< without the shims; owned */
	size_t process_count;
};

/** Look at a run that goes on. Blocks for files in /proc. @param[out] ret_usage owned by the caller. @return 0 or
 * RH_ENOMEM */
int rh_usage_read(const struct rh_kept *kept, struct rh_usage *ret_usage);
/**
 * Look at the processes below some shims alone: as rh_usage_read(), but replicas have no names, and processes have
 * those of their programs in place of their commands. Blocks for files in /proc.
 * @param[out] ret_usage its replicas are in the order of @p shims; owned by the caller. @return 0 or RH_ENOMEM
 */
int rh_usage_read_below(const pid_t *shims, size_t count, struct rh_usage *ret_usage);
/** @return the process @p pid, borrowed from @p usage; NULL: it has none */
struct rh_usage_process *rh_usage_find(const struct rh_usage *usage, int64_t pid);
/** What one replica uses. */
struct rh_usage_rate {
	size_t processes;
	int64_t memory; /**< resident, bytes */
	double cpu;     /**< processors */
	double read;    /**< from disks, bytes a second */
	double written; /**< to disks, likewise */
};

/**
 * Compare two samples. A process that is new counts from its start; what one that has ended used after @p before is not
 * known.
 * @param before NULL: there was none
 * @param time between the samples, microseconds; not positive: rates are 0
 * @param[out] ret_rates one for each replica of @p now
 */
void rh_usage_rates(const struct rh_usage *now, const struct rh_usage *before, int64_t time,
                    struct rh_usage_rate *ret_rates);
/** Free what @p usage has. */
void rh_usage_deinit(struct rh_usage *usage);

/** A usage that is freed when it goes out of scope. */
#define rh_auto_usage __attribute__((cleanup(rh_usage_deinit))) struct rh_usage

#endif
