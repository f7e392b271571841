/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/setting.h
 * @brief What one setting may say, whether a flag or the configuration says it.
 */
#ifndef RH_CONFIG_SETTING_H
#define RH_CONFIG_SETTING_H

#include <stddef.h>

#include "base/error.h"

/** What a value is. */
enum rh_setting_type {
	RH_SETTING_TEXT,      /**< anything but nothing */
	RH_SETTING_NUMBER,    /**< min to max, with decimals */
	RH_SETTING_INTEGER,   /**< min to max */
	RH_SETTING_TRUTH,     /**< true or false */
	RH_SETTING_NAMESPACE, /**< the name of a namespace, or nothing */
	RH_SETTING_NAME,      /**< the name of an object */
	RH_SETTING_DOMAIN,    /**< a domain name, or nothing */
	RH_SETTING_IMAGE,     /**< a reference to a container image */
	RH_SETTING_ADDRESS,   /**< where to listen (base/endpoint.h), or 0 or nothing for nowhere */
	RH_SETTING_WORD,      /**< one of words */
	RH_SETTING_LEVEL,     /**< a level of zap: one of words in any case, or a whole number from 1 on */
};

/** The rule of one setting. All borrowed. */
struct rh_setting_rule {
	const char *key;
	enum rh_setting_type type;
	double min; /**< of numbers; both 0: any */
	double max;
	const char *words; /**< "text|json" */
};

/**
 * Settings of the controller: its flags, some of which are keys of [controller] too.
 * @return the rule of @p key, static storage, or NULL
 */
const struct rh_setting_rule *rh_setting_controller(const char *key);
/**
 * Check a value. @return 0, or RH_EINVAL with "KEY: "VALUE" is no …; write …"
 */
int rh_setting_check(const struct rh_setting_rule *rule, const char *value, struct rh_error *err);

#endif
