/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/gate.h
 * @brief Whether a job may run, where somebody beside the engine says so.
 */
#ifndef RH_ENGINE_GATE_H
#define RH_ENGINE_GATE_H

/** Whether a job may run, as somebody beside it decides: Kueue (core/kueue). */
enum rh_gate_state {
	RH_GATE_NONE, /**< nobody holds the job */
	RH_GATE_OPEN, /**< it may run now */
	RH_GATE_SHUT, /**< it is as if suspended */
	RH_GATE_LATER /**< that is not known yet: nothing is decided about it until rh_engine_touch() */
};

/** The answer to whether a job may run. */
struct rh_gate {
	enum rh_gate_state state;
	const char *message; /**< with RH_GATE_LATER: for what it waits, for its condition Stalled; NULL: not shown */
};

#endif
