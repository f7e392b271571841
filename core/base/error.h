/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/error.h
 * @brief How a function of the core reports an error.
 *
 * A fallible function returns 0, a positive result that is its own and documented, or a negative enum
 * rh_status that the caller passes on unchanged. The message goes into the last parameter, a struct of fixed size that
 * needs no allocation, so that it can also report that memory is out. See docs/internals/errors.md.
 */
#ifndef RH_BASE_ERROR_H
#define RH_BASE_ERROR_H

#include <stdarg.h>

#include "roundhouse/status.h"

/** Room for one message, its terminating zero included, in bytes. Longer ones are cut with "...". */
#define RH_ERROR_MESSAGE_SIZE 1024

/** What an error is about, for callers that have to know more than its code. */
enum rh_error_topic {
	RH_ERROR_OTHER,
	RH_ERROR_UTF8,       /**< a text is not UTF-8 */
	RH_ERROR_CORE_FIELD, /**< a plugin edits what only the core writes */
	RH_ERROR_IDENTITY,   /**< an object has no apiVersion, kind or metadata.name */
	RH_ERROR_ENV_SIZE,   /**< an environment variable is longer than Linux takes */
	RH_ERROR_DEFINITION, /**< a text of a kind's description is malformed: schema, rules, columns, rights, ... */
};

/** One error. All zero is "no error". */
struct rh_error {
	int code;                            /**< the enum rh_status that was returned */
	enum rh_error_topic topic;           /**< kept by rh_wrap() */
	int context;                         /**< bytes of the message that the last rh_wrap() put in front */
	int line;                            /**< source line that reported it, for debug output */
	const char *file;                    /**< source file that reported it; static storage */
	char message[RH_ERROR_MESSAGE_SIZE]; /**< lower case, no full stop, names object, field and fix */
};

/**
 * Fill @p err (may be NULL) and return @p code, so that a caller can `return rh_fail(err, RH_EINVAL, "...")`.
 * An earlier message in @p err is replaced. It is a macro so that compilers and analysers, which read one file at
 * a time, know that the result is the code.
 */
#define rh_fail(err, code, ...)                                               \
	(__extension__({                                                          \
		const int rh_code_ = (code);                                          \
		(void)rh_error_set((err), rh_code_, __FILE__, __LINE__, __VA_ARGS__); \
		rh_code_;                                                             \
	}))

/** rh_fail() for RH_ENOMEM. */
#define rh_fail_oom(err) rh_fail((err), RH_ENOMEM, "out of memory")

/** @return @p code. Use rh_fail(). */
int rh_error_set(struct rh_error *err, int code, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/** Put "context: " in front of the message of @p err (may be NULL). @return @p code */
int rh_wrap(struct rh_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** Note what the error of @p err (may be NULL) is about; the next rh_fail() forgets it. */
void rh_error_set_topic(struct rh_error *err, enum rh_error_topic topic);

/** @return the message without the context that the last rh_wrap() put in front; borrowed */
const char *rh_error_reason(const struct rh_error *err);

/** @return the name of @p code for people who debug ("RH_EINVAL"); static storage, never NULL */
const char *rh_status_name(int code);

#endif
