/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/admission.h
 * @brief What the status of a Workload says, and the note of an admission that its job gets (build/admitted.h).
 */
#ifndef RH_KUEUE_ADMISSION_H
#define RH_KUEUE_ADMISSION_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "kueue/workload.h"

/** Room for the text by which admissions of one Workload differ. */
#define RH_KUEUE_ID_SIZE 17

/** @return the condition @p type of @p workload, borrowed; NULL: it has none */
const struct rh_json *rh_kueue_condition(const struct rh_json *workload, const char *type);
/** @return whether the condition @p type of @p workload is True */
bool rh_kueue_is(const struct rh_json *workload, const char *type);
/** Hash what is admitted, so that another admission of the same Workload gives another text; "" without one. @return 0
 * or RH_ENOMEM */
int rh_kueue_admission_id(const struct rh_json *workload, char ret_id[RH_KUEUE_ID_SIZE]);
/**
 * Make the note of the admission of @p workload. @param flavors ResourceFlavors by name.
 * @param wish what the job asks for. @param[out] ret_text owned by
 * the caller
 * @return 0, RH_EINVAL with the reason why the pods cannot be given what it says, or RH_ENOMEM
 */
int rh_kueue_note(const struct rh_json *workload, const struct rh_map *flavors, const struct rh_kueue_wish *wish,
                  char **ret_text, struct rh_error *err);

#endif
