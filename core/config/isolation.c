/* SPDX-License-Identifier: Apache-2.0 */
#include "config/isolation.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

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
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	rh_auto_free char *folder = NULL;

	if (length <= 0)
		return NULL;
	path[length] = '\0';
	folder = rh_path_folder(path);
	return folder ? rh_asprintf("%s/../libexec/roundhouse/roundhouse-plugin-worker", folder) : NULL;
}
