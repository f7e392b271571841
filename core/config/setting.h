/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/setting.h
 * @brief What one setting may say, whether a flag or the configuration says it.
 */
#ifndef RH_CONFIG_SETTING_H
#define RH_CONFIG_SETTING_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

/** What a value is. */
enum rh_setting_type {
	RH_SETTING_ANY,       /**< anything */
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
	/* What follows is checked where it is read: config/values.c, config/fabric.c. */
	RH_SETTING_DURATION,   /**< min to max, in seconds; both 0: any */
	RH_SETTING_COUNT,      /**< a whole number from 0 on */
	RH_SETTING_FOLDER,     /**< the path of a folder */
	RH_SETTING_FOLDERS,    /**< such paths, separated by colons */
	RH_SETTING_PORTS,      /**< FIRST-LAST */
	RH_SETTING_GANG,       /**< a gang scheduler (config/gang.h) */
	RH_SETTING_ALLOW,      /**< plugins (config/allow.h) */
	RH_SETTING_PUBLIC_KEY, /**< of minisign (base/crypto/minisign.h) */
	RH_SETTING_ISOLATION,  /**< of plugins (config/isolation.h) */
	RH_SETTING_BACKEND,    /**< of rh_comm, or none */
	RH_SETTING_SIZE,       /**< a quantity of bytes */
	RH_SETTING_LIST,       /**< names, separated by commas */
	RH_SETTING_PAIRS,      /**< NAME=VALUE, separated by commas */
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
 * Check a value. @return 0, or RH_EINVAL with "KEY: "VALUE" is not …; write …"
 */
int rh_setting_check(const struct rh_setting_rule *rule, const char *value, struct rh_error *err);

/** Append in words what a value may be, as "true or false" or "one of text, json". */
void rh_setting_describe(const struct rh_setting_rule *rule, struct rh_str *out);

#endif
