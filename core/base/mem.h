/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/mem.h
 * @brief The only functions by which the core allocates memory, and cleanup attributes for locals.
 *
 * Tests make the n-th allocation fail with rh_mem_fail_after() and check that nothing crashes or leaks.
 */
#ifndef RH_BASE_MEM_H
#define RH_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

/** @return @p size zeroed bytes (at least one), owned by the caller, or NULL when memory is out */
void *rh_alloc(size_t size) __attribute__((malloc, warn_unused_result));

/** @return zeroed room for @p count elements of @p size bytes, or NULL, also when the product overflows */
void *rh_alloc_array(size_t count, size_t size) __attribute__((malloc, warn_unused_result));

/** Resize to @p count elements of @p size bytes; new bytes are not zeroed. @return NULL and @p ptr intact on failure */
void *rh_realloc_array(void *ptr, size_t count, size_t size) __attribute__((warn_unused_result));

/** @return a copy of @p text owned by the caller; NULL when memory is out or @p text is NULL */
char *rh_strdup(const char *text) __attribute__((malloc, warn_unused_result));

/** @return a copy of the first @p length bytes of @p text, zero-terminated; NULL when memory is out */
char *rh_strndup(const char *text, size_t length) __attribute__((malloc, warn_unused_result));

/** @return formatted text owned by the caller, or NULL when memory is out */
char *rh_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), warn_unused_result));

/** rh_asprintf() for a function that has a va_list. */
char *rh_vasprintf(const char *fmt, va_list args) __attribute__((format(printf, 1, 0), warn_unused_result));

/** Free what the functions above returned. NULL is allowed. */
void rh_free(void *ptr);
/** Overwrite @p text with zeros and free it, for keys and passwords. NULL is ignored. */
void rh_free_secret(char *text);

/**
 * For tests: let @p count more allocations of this process succeed and fail every later one; a negative count (the
 * initial state) never fails. @return how many allocations were made since the last call
 */
long rh_mem_fail_after(long count);

/** Cleanup function of rh_auto_free. */
void rh_mem_freep(void *ptr_to_ptr);
/** Cleanup function of rh_auto_close: closes a descriptor that is not negative, keeping errno. */
void rh_mem_closep(const int *fd);

/** A local that is freed when it goes out of scope. Initialise it. */
#define rh_auto_free __attribute__((cleanup(rh_mem_freep)))
/** A local file descriptor that is closed when it goes out of scope. Initialise it to -1. */
#define rh_auto_close __attribute__((cleanup(rh_mem_closep)))
/** A local `struct X *` freed by X's rh_X_free; the header of X has RH_DEFINE_CLEANUP(X) beside the destructor. */
#define rh_auto(name) __attribute__((cleanup(rh_##name##_freep))) struct rh_##name *

/** Define the function that rh_auto(name) calls. Belongs in the header, after rh_<name>_free(). */
#define RH_DEFINE_CLEANUP(name)                                  \
	static inline void rh_##name##_freep(struct rh_##name **ptr) \
	{                                                            \
		rh_##name##_free(*ptr);                                  \
	}                                                            \
	struct rh_##name

/** Move a pointer out of a variable that a cleanup attribute guards. */
#define rh_take(ptr)                       \
	(__extension__({                       \
		__typeof__(ptr) rh_taken_ = (ptr); \
		(ptr) = NULL;                      \
		rh_taken_;                         \
	}))

#endif
