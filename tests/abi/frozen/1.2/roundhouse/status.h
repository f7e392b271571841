/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file roundhouse/status.h
 * @brief Results that functions of Roundhouse return.
 *
 * 0 is success, a negative value is one of these and is passed on unchanged, a positive value is a documented
 * result of the function that returns it.
 */
#ifndef ROUNDHOUSE_STATUS_H
#define ROUNDHOUSE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Results; crossing signatures carry them as int32_t. Values never change. */
enum rh_status {
	RH_OK = 0,        /**< success */
	RH_EINVAL = -1,   /**< the input is wrong; the user must change it, a retry cannot help */
	RH_ENOMEM = -2,   /**< out of memory */
	RH_EAGAIN = -3,   /**< a passing fault; retry with back-off */
	RH_EPLUGIN = -4,  /**< a plugin broke its contract */
	RH_EIO = -5,      /**< the operating system refused; the message carries its words */
	RH_ENOENT = -6,   /**< the thing named does not exist */
	RH_EEXIST = -7,   /**< the thing named exists already */
	RH_ECONFLICT = -8 /**< a precondition (resourceVersion, UID) does not hold */
};

#ifdef __cplusplus
}
#endif

#endif
