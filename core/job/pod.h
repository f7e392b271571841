/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/pod.h
 * @brief A pod as decisions see it: what is kept of one observed Pod.
 */
#ifndef RH_JOB_POD_H
#define RH_JOB_POD_H

#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "job/evidence/exit.h"
#include "job/evidence/written.h"
#include "job/job.h"

/** Most bytes of a container's last lines that are kept. */
#define RH_LAST_LINES_MAX 2048

/** An observed pod. Texts are owned, never NULL ("" when unset): of a packed pod all in the block that it is itself. */
struct rh_pod {
	char *name;
	char *uid;
	char *resource_version;
	char *owner_uid; /**< UID of the controller owner reference */
	char *type;      /**< replica type as labelled: lower case */
	char *node;      /**< spec.nodeName */
	char *ip;        /**< status.podIP */
	char *reason;    /**< status.reason ("Evicted"), or of the culprit's end, else the main container's ("OOMKilled") */
	char *waiting_reason;  /**< of a waiting container ("ImagePullBackOff"), or of PodScheduled ("Unschedulable") */
	char *waiting_message; /**< likewise */
	/** What of the culprit's termination message, else of the main container's, belongs to its end
	 * (job/evidence/evidence.h), at most RH_LAST_LINES_MAX bytes. */
	char *last_lines;
	/**
	 * The culprit of a failed pod: the main container, unless it ended well or not at all and another ended badly. Of a
	 * pod that has not ended: likewise, of a container that ended badly and is, or was, restarted in its place.
	 */
	char *failed_container;
	/** The containers that failed and whose output nobody knows, where that of the culprit is not known and a log can
	 * show it; owned; else NULL. */
	struct rh_unread_list *unread;
	int32_t index;    /**< replica index, 0 for a type without; -1 when the label is not a number from 0 to INT32_MAX */
	int32_t attempt;  /**< RH_ANNOTATION_ATTEMPT */
	int32_t phase;    /**< RH_PHASE_*; Unknown counts as RH_PHASE_PENDING */
	int32_t restarts; /**< sum of restartCount over init and regular containers */
	int32_t exit_code;   /**< of the main container when it has terminated, else -1; restart rules go by this one */
	int32_t failed_code; /**< exit code of the container that failed, else -1; for user-visible messages */
	int32_t blame;       /**< enum rh_blame: evidence of the culprit's end; RH_BLAME_NONE while no container failed */
	int32_t rank;        /**< rank of the process in it that failed, as it names itself; else -1 */
	int32_t accused;     /**< rank that it lost or waited for, by its own output; else -1 */
	int64_t created_at;  /**< microseconds; 0 is unset, likewise below */
	int64_t started_at;  /**< when the main container started */
	int64_t finished_at; /**< when the pod's last container ended */
	int64_t failed_at;   /**< when the culprit ended */
	int64_t log_until;   /**< until when the answer to a request for its log is awaited; 0: there was none */
	int64_t deleted_at;  /**< when its deletion was asked for: deletionTimestamp less the grace period */
	/** The culprit failed without a termination message, and its terminationMessagePolicy is File, as API servers set
	 * it: what it wrote is not known, unlike that of a container whose log the kubelet looks at. */
	bool output_unknown;
	bool log_over; /**< that answer has come, or will not */
	bool deleting; /**< deletionTimestamp is set */
	bool ready;    /**< condition Ready is True */
	bool packed;   /**< as rh_pod_parse() makes it; else each text is its own */
};

/**
 * Trim a Pod object. Members of a wrong type count as unset; nothing in a pod that a user can write makes this fail.
 * @param kind names the main container
 * @return 0 or RH_ENOMEM
 */
int rh_pod_parse(const struct rh_kind *kind, const struct rh_json *object, struct rh_pod **ret_pod);
/** rh_pod_parse() of a pod of which logs were read. @param output counts where the status has no message; may be NULL
 */
int rh_pod_parse_with(const struct rh_kind *kind, const struct rh_json *object, const struct rh_written *output,
                      struct rh_pod **ret_pod);
/** Free a pod. NULL is allowed. */
void rh_pod_free(struct rh_pod *pod);
RH_DEFINE_CLEANUP(pod);
/**
 * The number of the replica that a Pod or Service of the kind is for.
 * @param labels of the object
 * @return 0 for a type without index; -1 where the label is missing or no number in 0 … INT32_MAX
 */
int32_t rh_pod_index(const struct rh_kind *kind, const struct rh_json *labels);
/**
 * The grace period that a pod names for its end. One below 0 counts as 1 second, as an API server has it, and one that
 * would outlast decades as INT32_MAX seconds, so that a sum with a time cannot overflow.
 * @param spec of a pod or a pod template; NULL names none
 * @param ret_seconds 0 … INT32_MAX, set where true is returned
 * @return whether it names one
 */
bool rh_pod_grace(const struct rh_json *spec, int64_t *ret_seconds);
/** @return whether the pod succeeded or failed */
bool rh_pod_finished(const struct rh_pod *pod);

#endif
