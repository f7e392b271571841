/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/orders.h
 * @brief Runs a small scenario in every order in which requests, answers and events can happen, with a kill of the
 * engine between any two of them.
 *
 * At each point the choices are: any pending head of the store, what a kubelet could do to any pod, the user's next
 * act, and once in a run to kill the engine and start another. The default is the oldest head; a run is a list of
 * choices. All runs with one choice that is not the default are done, then random ones.
 */
#ifndef RH_TEST_ENGINE_CARRY_ORDERS_H
#define RH_TEST_ENGINE_CARRY_ORDERS_H

#include "engine/carry/sim.h"

/** @name What a replica's container does: exits with a code of 0 … 255, or @{ */
#define FATE_RUNS (-1)  /**< runs on */
#define FATE_WAITS (-2) /**< exits with 0 once all other pods of the job have succeeded */
/** @} */

/** Results of the pods of one replica, in order; the last one counts for all further pods. */
struct fate {
	const char *replica; /**< "worker-0"; NULL ends a list */
	int codes[3];
	int count;
};

/** What the user does. */
struct act {
	const char *when;  /**< part of sim_show(); NULL ends a list */
	bool quiet;        /**< and nothing is under way */
	const char *patch; /**< of the job, as test JSON */
	const char *pod;   /**< delete this replica's pod */
	bool remove;       /**< delete the job */
};

/** One scenario; the job is called "j". */
struct scenario {
	const char *name;
	const char *replicas; /**< as sim_new_job() */
	const char *policy;
	const char *annotations;
	const char *scope; /**< what the plugin restarts (abi/plugins/restarts.c), whose kind has Leader and Worker; NULL:
	                      PyTorch */
	bool graceful;
	struct fate fates[4];
	struct act acts[4];
	const char *ends[4]; /**< sim_show() at the end: one of these */
	int restarts;        /**< that the ledger counts at the end; -1: not to be checked */
	int attempt;         /**< of the ledger at the end; -1: not to be checked */
	bool again;          /**< replicas that succeeded may run again, in another attempt */
};

/** How many runs to make of each scenario. */
struct effort {
	int random; /**< runs with random choices */
	int stride; /**< of the runs with one choice that is not the default, only each so many-th */
};

/** Do the runs. A run that fails prints its choices and fails the test. */
void orders_explore(const struct scenario *scenario, const struct effort *effort);

#endif
