/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress/load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/library/library.h"
#include "base/library/trust.h"
#include "base/os/file.h"
#include "cli/progress/module.h"
#include "roundhouse/version.h"

/* The program that loads it: what main() was started from. */
#define LOAD_SELF "/proc/self/exe"

static bool load_names_python(const struct rh_json *words)
{
	static const char *const names[] = {"python", ".py", "torchrun", "accelerate", "deepspeed"};

	for (const struct rh_json *word = rh_json_first(words); word; word = rh_json_next(word)) {
		const char *text = rh_json_string(word);

		for (size_t i = 0; text && i < sizeof(names) / sizeof(names[0]); i++) {
			if (strstr(text, names[i]))
				return true;
		}
	}
	return false;
}

static bool load_is_useful(const struct rh_job *job)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		const struct rh_json *container = rh_json_first(rh_json_at(job->specs[i].template_, "spec.containers"));

		for (; container; container = rh_json_next(container)) {
			if (load_names_python(rh_json_get(container, "command")) ||
			    load_names_python(rh_json_get(container, "args")))
				return true;
		}
	}
	return false;
}

bool rh_progress_is_useful(const struct rh_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		if (load_is_useful(jobs->items[i]))
			return true;
	}
	return false;
}

/* ISO C has no cast from the object pointer of dlsym() to a function pointer; POSIX promises equal representation. */
static const struct rh_progress_serving *load_ask(void *handle)
{
	void *symbol = dlsym(handle, RH_PROGRESS_MODULE_SYMBOL);
	rh_progress_module_fn *module = NULL;

	memcpy(&module, &symbol, sizeof(symbol));
	return symbol ? module(RH_VERSION) : NULL;
}

static int load_module(const struct rh_progress_serving **ret_serving, struct rh_error *err)
{
	rh_auto_free char *folder = NULL, *path = NULL;
	char real[PATH_MAX], why[RH_ERROR_MESSAGE_SIZE];
	rh_auto_close int fd = -1;
	struct rh_library library = {.real = real, .name = real, .self = LOAD_SELF};
	void *handle;

	(void)rh_program_folder(&folder);
	path = folder ? rh_asprintf("%s/../libexec/roundhouse/" RH_PROGRESS_MODULE_FILE, folder) : NULL;
	if (!path)
		return rh_fail(err, RH_EIO, "the folder of this program is not known: is /proc mounted?");
	fd = rh_trust_open(path, LOAD_SELF, real, why, sizeof(why));
	if (fd < 0)
		return rh_fail(err, RH_EIO, "cannot load \"%s\": %s", path, why);
	library.fd = fd;
	handle = rh_library_open(&library, why, sizeof(why));
	if (!handle)
		return rh_fail(err, RH_EIO, "cannot load \"%s\": %s", path, why);
	/* it is never unloaded: GnuTLS and libcrypto keep state until the process ends */
	*ret_serving = load_ask(handle);
	return *ret_serving ? 0 : rh_fail(err, RH_EIO, "\"%s\" is not of version " RH_VERSION "; install both again", path);
}

const struct rh_progress_serving *rh_progress_load(const struct rh_cli *cli, const struct rh_session *session)
{
	const struct rh_progress_serving *serving = NULL;
	struct rh_error err = {0};

	if (rh_cli_option(cli, "no-progress") || !session->config->progress)
		return NULL;
	if (load_module(&serving, &err) < 0 && !rh_cli_option(cli, "quiet"))
		fprintf(stderr, "note: replicas cannot report their progress: %s (--no-progress turns the reports off)\n",
		        err.message);
	return serving;
}
