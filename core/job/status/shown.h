/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/status/shown.h
 * @brief The status of a job as its kind shows it.
 *
 * A kind may have conditions of other names, lack some, keep counts and times out of its status (RH_KIND_OWN_STATUS),
 * and have members of its own (rh_kind.status_schema). What the core needs of a status and the kind does not show is in
 * an annotation of the job (RH_ANNOTATION_STATUS), in the core's terms. Reading joins both, so that all else sees a
 * status like any other. A kind of ABI 1.1 shows everything and has no such annotation.
 */
#ifndef RH_JOB_STATUS_SHOWN_H
#define RH_JOB_STATUS_SHOWN_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "job/status/status.h"
#include "roundhouse/plugin.h"

/** @return rh_kind.status_schema as JSON text, borrowed; NULL: the kind has no members of its own */
const char *rh_shown_schema(const struct rh_kind *kind);
/** @return whether @p member of status is the plugin's to write (rh_services.status) */
bool rh_shown_is_own(const struct rh_kind *kind, const char *member);
/** @return whether @p member is one that the core writes, and that the kind shows */
bool rh_shown_is_core(const struct rh_kind *kind, const char *member);
/** @return whether parts of a status are in the annotation */
bool rh_shown_hides(const struct rh_kind *kind);
/**
 * Read the status of a job: what it shows, and the annotation. Members that are missing or of a wrong type are left
 * out. @param kind NULL: it is not known, and no condition has a name of its own
 * @return 0 or RH_ENOMEM
 */
int rh_shown_read(const struct rh_kind *kind, const struct rh_json *object, struct rh_job_status *ret_status);
/** @return .status as the kind shows it, owned by the caller; NULL: out of memory */
struct rh_json *rh_shown_json(const struct rh_kind *kind, const struct rh_job_status *status)
	__attribute__((warn_unused_result));
/** @return the rest, for the annotation, owned by the caller; NULL: out of memory. @param uid of the job */
struct rh_json *rh_shown_hidden(const struct rh_kind *kind, const struct rh_job_status *status, const char *uid)
	__attribute__((warn_unused_result));

#endif
