/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target on the files of a corpus folder, or on single files, without libFuzzer. */
#include <ftw.h>
#include <string.h>

#include "base/os/file.h"
#include "fuzz.h"

/* Larger inputs are not worth keeping in a corpus. */
#define REPLAY_INPUT_MAX ((size_t)16 * 1024 * 1024)

static int replay_file(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	rh_auto_free char *text = NULL;
	rh_auto_free uint8_t *exact = NULL;
	struct rh_error err = {0};
	size_t length;

	(void)st;
	(void)where;
	if (kind != FTW_F)
		return 0;
	printf("%s\n", path);
	fflush(stdout);
	if (rh_file_read(path, REPLAY_INPUT_MAX, &text, &length, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return -1;
	}
	/* Without the zero that follows a file's text, so that sanitizers see a read behind the end. */
	exact = malloc(length > 0 ? length : 1);
	if (!exact)
		return -1;
	memcpy(exact, text, length);
	(void)LLVMFuzzerTestOneInput(exact,
	                             length); /* NOLINT(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER|FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		if (nftw(argv[i], replay_file, 16, FTW_PHYS) != 0) {
			fprintf(stderr, "cannot replay %s\n", argv[i]);
			return 1;
		}
	}
	return 0;
}
