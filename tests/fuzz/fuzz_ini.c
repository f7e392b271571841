/* SPDX-License-Identifier: Apache-2.0 */
/* Settings come in the order of their lines, with keys, and without white space around values. */
#include <string.h>

#include "base/ini.h"
#include "fuzz.h"

static int fuzz_setting(void *arg, const char *section, const char *key, const char *value, int line,
                        struct rh_error *err)
{
	int *last_line = arg;
	size_t length = strlen(value);

	fuzz_require(line > *last_line);
	fuzz_require(key[0] != '\0' && strlen(key) <= 150 && strlen(section) <= 49);
	fuzz_require(length == 0 || (!strchr(" \t\r", value[0]) && !strchr(" \t\r", value[length - 1])));
	fuzz_require(!strchr(value, '\n'));
	*last_line = line;
	return strcmp(value, "refuse") == 0 ? rh_fail(err, RH_ENOENT, "refused") : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rh_error err = {0};
	int last_line = 0;
	int r = rh_ini_parse("a.ini", (const char *)data, size, fuzz_setting, &last_line, &err);

	fuzz_require(r <= 0 && (r == 0 || strncmp(err.message, "a.ini:", 6) == 0));
	return 0;
}
