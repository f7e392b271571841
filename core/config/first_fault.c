/* SPDX-License-Identifier: Apache-2.0 */
#include "config/first_fault.h"

#include "base/str.h"
#include "config/config.h"

enum rh_fault_source rh_fault_source_of(const char *word)
{
	if (rh_text_equal(word, "messages"))
		return RH_FAULT_MESSAGES;
	return rh_text_equal(word, "logs") ? RH_FAULT_LOGS : RH_FAULT_STATUS;
}

enum rh_fault_source rh_config_fault_source(const struct rh_config *config)
{
	return rh_fault_source_of(config ? rh_config_setting(config, "controller", RH_CONFIG_FIRST_FAULT) : NULL);
}
