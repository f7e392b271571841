/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every cmocka program understands, whatever else its main() reads: --list prints the names of its cases, --case
 * NAME runs one. NAME is a whole name, or what follows the last "__" in it, and may have * and ?. The linker's --wrap
 * puts this before cmocka's runner.
 */
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

/* The command line, as the kernel has it: main() does not hand it on. */
struct arguments {
	char *word;
	size_t size;
	FILE *file;
};

static const char *next_argument(struct arguments *arguments)
{
	return getdelim(&arguments->word, &arguments->size, '\0', arguments->file) < 0 ? NULL : arguments->word;
}

static int list(const struct CMUnitTest *tests, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)puts(tests[i].name);
	return 0;
}

static bool any_matches(const char *pattern, const struct CMUnitTest *tests, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(pattern, tests[i].name, 0) == 0)
			return true;
	return false;
}

/* @return the pattern under which cmocka finds the case, owned by the caller; NULL: there is no such case */
static char *find_case(const char *name, const struct CMUnitTest *tests, size_t count)
{
	char *pattern = NULL;

	if (any_matches(name, tests, count))
		return strdup(name);
	if (asprintf(&pattern, "*__%s", name) < 0)
		return NULL;
	if (any_matches(pattern, tests, count))
		return pattern;
	free(pattern);
	return NULL;
}

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
	struct arguments arguments = {.file = fopen("/proc/self/cmdline", "re")};
	const char *word = arguments.file ? next_argument(&arguments) : NULL;
	char *pattern = NULL;
	int failed = -1;

	word = word ? next_argument(&arguments) : NULL;
	if (word && strcmp(word, "--list") == 0) {
		failed = list(tests, count);
	} else if (word && strcmp(word, "--case") == 0) {
		word = next_argument(&arguments);
		pattern = find_case(word ? word : "", tests, count);
		if (!pattern) {
			(void)fprintf(stderr, "error: no case \"%s\"; --list prints them\n", word ? word : "");
			failed = 1;
		}
	}
	if (failed < 0) {
		if (pattern)
			cmocka_set_test_filter(pattern);
		failed = __real__cmocka_run_group_tests(group, tests, count, setup, teardown);
	}
	free(pattern);
	free(arguments.word);
	if (arguments.file)
		(void)fclose(arguments.file);
	return failed;
}
