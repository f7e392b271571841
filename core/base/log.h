/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/log.h
 * @brief Log lines on standard error, as text or JSON. Library code returns errors; only loops and commands log.
 */
#ifndef RH_BASE_LOG_H
#define RH_BASE_LOG_H

#include <stdbool.h>

/** An object of a cluster that lines are about. Texts are borrowed; "" is left out. */
struct rh_log_object {
	const char *kind;
	const char *namespace_;
	const char *name;
	const char *uid;
};

/** How much a line matters. */
enum rh_log_level { RH_LOG_DEBUG, RH_LOG_INFO, RH_LOG_WARN, RH_LOG_ERROR };

/**
 * Choose what is written: lines below @p level are dropped; @p json writes one JSON object a line. Call once, before
 * any thread starts.
 */
void rh_log_setup(enum rh_log_level level, bool json);
/** @return whether a line of @p level would be written */
bool rh_log_enabled(enum rh_log_level level);
/** Write one line. @p object names what it is about ("PyTorchJob default/mnist"), may be NULL. Thread-safe. */
void rh_log(enum rh_log_level level, const char *object, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/**
 * rh_log() about an object of a cluster: "KIND NAMESPACE/NAME (UID): …" as text, members kind, namespace, name and uid
 * in JSON.
 */
void rh_log_about(enum rh_log_level level, const struct rh_log_object *object, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Read "debug", "info", "warn" or "error". @return 0 or RH_EINVAL, then *@p ret_level is unchanged */
int rh_log_level_parse(const char *text, enum rh_log_level *ret_level);

#endif
