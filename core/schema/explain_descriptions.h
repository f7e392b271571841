/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file schema/explain_descriptions.h
 * @brief Descriptions of fields whose schemas have none. Private to the host.
 */
#ifndef RH_SCHEMA_EXPLAIN_DESCRIPTIONS_H
#define RH_SCHEMA_EXPLAIN_DESCRIPTIONS_H

/** Description of one field. */
struct rh_explain_descriptions {
	const char *place;       /**< path from the root; the map of the replicas and its keys are "*" */
	const char *description; /**< whole sentences; "Default: X." may be the last */
};

/** @return the description of the field at @p place, static storage, or NULL */
const char *rh_explain_descriptions(const char *place);

#endif
