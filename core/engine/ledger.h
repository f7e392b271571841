/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/ledger.h
 * @brief State of a job that live pods do not show, kept in one annotation of the job (RH_ANNOTATION_LEDGER).
 *
 * Bounded in size whatever the job is. Written before the delete that it accounts for, with a resourceVersion
 * precondition; idempotent by pod UID: a restart whose pod UID has been counted is not counted again.
 */
#ifndef RH_ENGINE_LEDGER_H
#define RH_ENGINE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/first_fault.h"
#include "engine/index_set.h"
#include "engine/uid_map.h"
#include "job/evidence/evidence.h"
#include "job/job.h"
#include "job/pod.h"

/** Why a replica was restarted. */
enum rh_restart_cause {
	RH_CAUSE_EXIT,     /**< its container failed with an exit code that is restarted */
	RH_CAUSE_DELETED,  /**< another client deleted its pod, or it vanished */
	RH_CAUSE_EVICTED,  /**< its pod failed without an exit code of the main container: eviction, lost node */
	RH_CAUSE_IN_PLACE, /**< the kubelet restarted a container in its pod (restartCount) */
	RH_CAUSE_JOB,      /**< it was stopped with others that restart, or for free (RH_RESTART_FREE) */
	RH_CAUSE_PLUGIN,   /**< its plugin wants it (rh_services.restart) */
	RH_CAUSE_STALLED,  /**< its rank did not come: its pod was evicted, or the whole job restarted because of it */
	RH_CAUSES
};

/** Longest annotation text that is ever written, in bytes. */
#define RH_LEDGER_TEXT_MAX (32 * 1024)
/** Most entries of counted; those of pods that are gone are dropped first. */
#define RH_LEDGER_COUNTED_MAX 512

/** Why a job fails, once that is decided; later observations do not change it. */
enum rh_ledger_end {
	RH_END_NONE,
	RH_END_BACKOFF, /**< backoffLimit */
	RH_END_DEADLINE /**< activeDeadlineSeconds */
};

/** Restarts and successes of one replica type. */
struct rh_ledger_type {
	char *type;                  /**< canonical type; owned */
	int64_t restarts[RH_CAUSES]; /**< by cause; RH_CAUSE_IN_PLACE holds those of pods that are gone: live ones are read
	                                from the pods */
	struct rh_index_set succeeded; /**< indices that succeeded; none of them is run again in this attempt */
	struct rh_index_set
		lost; /**< indices whose restart has been counted and whose next pod has not been seen to run yet */
	/** Indices that restart because the plugin wants it, while a pod of one of them is left; then they are lost. */
	struct rh_index_set again;
	char *token; /**< of the last restart of the type with one; owned; NULL: there was none */
};

/** The ledger. All zero is the empty one. */
struct rh_ledger {
	struct rh_ledger_type types[RH_TYPES_MAX];
	size_t type_count;
	int32_t attempt; /**< 0 at first; counts whole-job restarts */
	char *token;     /**< of the last of these that the plugin wanted with a token; owned; NULL: there was none */
	bool stopping;   /**< the attempt is over, its pods are being stopped; the next begins when all are gone */
	enum rh_ledger_end end; /**< decided: the job fails and all its pods go, whatever cleanPodPolicy says */
	/**
	 * Sorted: UIDs of pods whose end has been accounted for (a counted restart, or an end that does not count because
	 * the pod is being stopped), and notes of what has been reported ("waiting/UID", "invalid/HASH"); owned.
	 */
	char **counted;
	size_t counted_count;
	struct rh_first_fault fault;
	struct rh_uid_map made; /**< further objects of RH_OBJECT_ONCE that this program created */
};

/** Free it and make it empty. */
void rh_ledger_deinit(struct rh_ledger *ledger);
/** Deep copy into @p to, which must be empty. @return 0 or RH_ENOMEM */
int rh_ledger_copy(struct rh_ledger *to, const struct rh_ledger *from);
/**
 * Read the annotation of @p job. None, one that does not parse, or one of another UID gives an empty ledger (what can
 * be seen is observed again).
 * @return 0 or RH_ENOMEM
 */
int rh_ledger_read(const struct rh_job *job, struct rh_ledger *ret_ledger);
/** Write it as the annotation's text, carrying the job's UID; index sets as ranges ("0-3,7"). @return owned by the
 * caller; NULL: out of memory */
char *rh_ledger_text(const struct rh_ledger *ledger, const struct rh_job *job) __attribute__((warn_unused_result));
/** @return whether both are equal */
bool rh_ledger_equal(const struct rh_ledger *a, const struct rh_ledger *b);
/** @return the entry of @p type, made when it was missing; NULL when memory or room is out */
struct rh_ledger_type *rh_ledger_type_of(struct rh_ledger *ledger, const char *type);
/** @return the entry of @p type, borrowed, or NULL when there is none */
const struct rh_ledger_type *rh_ledger_find(const struct rh_ledger *ledger, const char *type);
/** @return whether @p index of @p type is known to have succeeded */
bool rh_ledger_succeeded(const struct rh_ledger *ledger, const char *type, int32_t index);
/** Remember that @p index of @p type succeeded. @return 0 or RH_ENOMEM */
int rh_ledger_set_succeeded(struct rh_ledger *ledger, const char *type, int32_t index);
/** @return whether the end of pod @p uid has been accounted for, or the note @p uid has been made */
bool rh_ledger_counted(const struct rh_ledger *ledger, const char *uid);
/** @return how many more UIDs and notes there is room for */
size_t rh_ledger_room(const struct rh_ledger *ledger);
/** Account for the end of pod @p uid, or make a note, without counting a restart. @return 1 when that is new, 0 when it
 * was there or room is out, or RH_ENOMEM */
int rh_ledger_note(struct rh_ledger *ledger, const char *uid);
/** Count a restart of @p type once for pod @p uid; for a NULL @p uid always. @return 1 when it was counted, 0 when it
 * was before or room is out, or RH_ENOMEM */
int rh_ledger_count(struct rh_ledger *ledger, const char *type, enum rh_restart_cause cause, const char *uid);
/** Take @p uid out of what is accounted for; nothing when it is not there. */
void rh_ledger_unnote(struct rh_ledger *ledger, const char *uid);
/**
 * Forget what is counted and noted of pods that are gone.
 * @param keep for each of the counted, whether it stays
 */
void rh_ledger_retain(struct rh_ledger *ledger, const bool *keep);
/** @return place of @p uid among the counted, or RH_LEDGER_COUNTED_MAX when it is not there */
size_t rh_ledger_place(const struct rh_ledger *ledger, const char *uid);
/** Make a copy of @p token the last one of a job or type (its field @p last); NULL: nothing changes. @return 0 or
 * RH_ENOMEM */
int rh_ledger_set_token(char **last, const char *token);
/** @return whether the replica stops because the plugin wants it to restart */
bool rh_ledger_stops(const struct rh_ledger *ledger, const char *type, int32_t index);
/** Forget the successes and losses of the attempt, as when all ranks are to run again. Counts, attempt and fault stay.
 */
void rh_ledger_forget_indices(struct rh_ledger *ledger);
/** @return restarts that count against backoffLimit: every cause but RH_CAUSE_JOB, for a restart of several replicas
 * counts once, by what caused it; and but RH_CAUSE_STALLED, which has a limit of its own (RH_ANNOTATION_STALLS_LIMIT)
 */
int64_t rh_ledger_restarts(const struct rh_ledger *ledger);
/** @return restarts of @p cause over all types */
int64_t rh_ledger_restarts_of(const struct rh_ledger *ledger, enum rh_restart_cause cause);
/** @return "exit", "deleted", "evicted", "in-place", "job", "plugin" or "stalled"; static storage */
const char *rh_restart_cause_name(enum rh_restart_cause cause);

/** A local ledger that is freed when it goes out of scope. */
#define rh_auto_ledger __attribute__((cleanup(rh_ledger_deinit))) struct rh_ledger

#endif
