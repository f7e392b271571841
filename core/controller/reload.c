/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/reload.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/notify.h"
#include "base/str.h"
#include "kube/auth/program.h"

/* How long folders have to be quiet: who installs plugins writes several files. */
#define RELOAD_QUIET RH_SECOND
/* Longest time that changes are waited out. */
#define RELOAD_QUIET_MAX (30 * RH_SECOND)
/* Longest trial. */
#define RELOAD_TRIAL_MAX (60 * RH_SECOND)
/* The folder of further files beside the configuration. */
#define RELOAD_ADDITIONS "plugins.d"

struct rh_reload {
	struct rh_loop *loop;
	char *const *argv;
	const struct rh_config *config; /* that counts now */
	struct rh_notify *notify;       /* NULL: folders are not watched */
	struct rh_auth_program *trial;  /* NULL: none runs */
	uint64_t seen;                  /* what was installed when it was last tried */
	int64_t changed_at;             /* of the first change that was not looked at yet; 0: there is none */
	int64_t look_at;                /* when it is looked at */
	bool requested;                 /* try it though nothing has changed */
	bool passed;                    /* the trial has passed */
};

/* --- what is installed */

static bool reload_counts(const char *name)
{
	static const char *const endings[] = {".so", ".so.minisig", ".ini"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (rh_ends_with(name, endings[i]))
			return true;
	}
	return false;
}

/* @return a number that is another one when the file is another one, or is written */
static uint64_t reload_print_file(const char *path)
{
	rh_auto_str text = {0};
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	rh_str_appendf(&text, "%s %llu %llu %lld %lld.%09ld", path, (unsigned long long)st.st_dev,
	               (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_ctim.tv_sec,
	               st.st_ctim.tv_nsec);
	return text.failed ? 0 : rh_hash(text.data, text.length);
}

/* @return the sum over the files of a folder, so that their order does not matter; 0 for a missing folder */
static uint64_t reload_print_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	uint64_t sum = 0;

	while (dir && (entry = readdir(dir))) {
		rh_auto_free char *path = reload_counts(entry->d_name) ? rh_path_join(folder, entry->d_name) : NULL;

		sum += path ? reload_print_file(path) : 0;
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* Call @p fn with each folder that matters. */
static void reload_each_folder(struct rh_reload *reload, void (*fn)(struct rh_reload *reload, const char *folder))
{
	const struct rh_config *config = reload->config;
	rh_auto_free char *folder = config->file ? rh_path_folder(config->file) : NULL;
	rh_auto_free char *additions = folder ? rh_path_join(folder, RELOAD_ADDITIONS) : NULL;

	for (size_t i = 0; i < config->plugin_dir_count; i++)
		fn(reload, config->plugin_dirs[i]);
	if (folder)
		fn(reload, folder);
	if (additions)
		fn(reload, additions);
}

static void reload_add_print(struct rh_reload *reload, const char *folder)
{
	reload->seen += reload_print_folder(folder);
}

/* @return whether what is installed has changed since the last call */
static bool reload_look(struct rh_reload *reload)
{
	uint64_t before = reload->seen;

	reload->seen = reload->config->file ? reload_print_file(reload->config->file) : 0;
	reload_each_folder(reload, reload_add_print);
	return reload->seen != before;
}

/* A folder that is missing is not watched: there is plugins.d only where somebody made it. */
static void reload_watch(struct rh_reload *reload, const char *folder)
{
	struct rh_error err = {0};

	if (rh_notify_add(reload->notify, folder, &err) == RH_EIO)
		rh_log(RH_LOG_WARN, NULL, "%s; after a change send SIGHUP", err.message);
}

static void reload_on_change(void *arg)
{
	struct rh_reload *reload = arg;
	int64_t now = rh_clock_monotonic();

	if (!reload->changed_at)
		reload->changed_at = now;
	reload->look_at = now + RELOAD_QUIET;
	if (reload->look_at > reload->changed_at + RELOAD_QUIET_MAX)
		reload->look_at = reload->changed_at + RELOAD_QUIET_MAX;
}

/* --- the trial */

int rh_reload_new(struct rh_loop *loop, char *const *trial, const struct rh_config *config,
                  struct rh_reload **ret_reload, struct rh_error *err)
{
	struct rh_reload *reload = rh_alloc(sizeof(*reload));
	struct rh_error why = {0};

	if (!reload)
		return rh_fail_oom(err);
	*reload = (struct rh_reload){.loop = loop, .argv = trial, .config = config};
	if (rh_notify_new(loop, reload_on_change, reload, &reload->notify, &why) == 0)
		reload_each_folder(reload, reload_watch);
	else
		rh_log(RH_LOG_WARN, NULL, "%s; after a change of plugins send SIGHUP", why.message);
	(void)reload_look(reload);
	*ret_reload = reload;
	return 0;
}

void rh_reload_free(struct rh_reload *reload)
{
	if (!reload)
		return;
	rh_auth_program_free(reload->trial);
	rh_notify_free(reload->notify);
	rh_free(reload);
}

void rh_reload_request(struct rh_reload *reload)
{
	reload->requested = true;
}

static bool reload_is_due(struct rh_reload *reload, int64_t now)
{
	bool due = reload->requested;

	if (reload->changed_at && (due || now >= reload->look_at)) {
		reload->changed_at = 0;
		due = reload_look(reload) || due;
	}
	reload->requested = false;
	return due;
}

static enum rh_reload_verdict reload_begin(struct rh_reload *reload, struct rh_error *err)
{
	const struct rh_auth_program_options options = {
		.loop = reload->loop, .argv = reload->argv, .envp = environ, .timeout = RELOAD_TRIAL_MAX};

	rh_log(RH_LOG_INFO, NULL, "the installed plugins are tried");
	return rh_auth_program_new(&options, &reload->trial, err) < 0 ? RH_RELOAD_REFUSED : RH_RELOAD_NOTHING;
}

/* What the trial printed counts; else how it ended. */
static void reload_explain(const struct rh_reload *reload, struct rh_error *err)
{
	const struct rh_str *output = rh_auth_program_output(reload->trial);
	size_t length = output->length;

	while (length > 0 && output->data[length - 1] == '\n')
		length--;
	if (length > 0)
		(void)rh_fail(err, RH_EINVAL, "%.*s", (int)(length < RH_ERROR_MESSAGE_SIZE ? length : RH_ERROR_MESSAGE_SIZE),
		              output->data);
}

static enum rh_reload_verdict reload_follow(struct rh_reload *reload, int64_t now, struct rh_error *err)
{
	int r = rh_auth_program_check(reload->trial, now, err);

	if (r == RH_AUTH_PROGRAM_RUNS)
		return RH_RELOAD_NOTHING;
	if (r < 0)
		reload_explain(reload, err);
	rh_auth_program_free(rh_take(reload->trial));
	reload->passed = r == 0;
	return reload->passed ? RH_RELOAD_READY : RH_RELOAD_REFUSED;
}

enum rh_reload_verdict rh_reload_step(struct rh_reload *reload, int64_t now, struct rh_error *err)
{
	if (reload->passed)
		return RH_RELOAD_READY;
	if (reload->trial)
		return reload_follow(reload, now, err);
	return reload_is_due(reload, now) ? reload_begin(reload, err) : RH_RELOAD_NOTHING;
}

int64_t rh_reload_deadline(const struct rh_reload *reload)
{
	if (reload->passed)
		return RH_NEVER;
	if (reload->trial)
		return rh_auth_program_deadline(reload->trial);
	if (reload->requested)
		return 0;
	return reload->changed_at ? reload->look_at : RH_NEVER;
}

void rh_reload_done(struct rh_reload *reload, const struct rh_config *config)
{
	bool moved = reload->config != config;

	reload->passed = false;
	reload->config = config;
	if (moved && reload->notify)
		reload_each_folder(reload, reload_watch);
	if (moved)
		(void)reload_look(reload);
}
