/* SPDX-License-Identifier: Apache-2.0 */
#include "config/isolation.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/file.h"

int rh_isolation_parse(const char *text, enum rh_isolation *ret_isolation, struct rh_error *err)
{
	static const char *const words[] = {"none", "foreign", "process"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(text, words[i]) == 0) {
			*ret_isolation = (enum rh_isolation)i;
			return 0;
		}
	}
	return rh_fail(err, RH_EINVAL, "\"%s\" is not one of %s", text, RH_ISOLATION_WORDS);
}

char *rh_isolation_worker(void)
{
	rh_auto_free char *folder = NULL;

	(void)rh_program_folder(&folder);
	return folder ? rh_asprintf("%s/../libexec/roundhouse/roundhouse-plugin-worker", folder) : NULL;
}
