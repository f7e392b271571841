/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/page/page.h"
#include "local/keep/kept.h"
#include "local/keep/place.h"

/* Shows a file with the program that the desktop has for it. */
#define VIEW_OPENER "xdg-open"

/* The newest run, where none is named. */
static int view_find_newest(struct rh_kept *ret_kept, struct rh_error *err)
{
	rh_auto_kept_list list = {NULL, 0};
	int r = rh_kept_list(&list, err);

	if (r < 0)
		return r;
	if (list.count == 0)
		return rh_fail(err, RH_ENOENT, "no run is kept; `roundhouse run` keeps one");
	*ret_kept = list.items[0];
	list.items[0] = (struct rh_kept){0};
	return 0;
}

/* Closes @p out in any case. */
static int view_write(FILE *out, const char *name, const struct rh_kept *kept, struct rh_error *err)
{
	int r = rh_page_write(out, kept);
	bool failed = fflush(out) != 0 || ferror(out);
	int cause = errno;

	if (fclose(out) != 0 && !failed) {
		failed = true;
		cause = errno;
	}
	if (r < 0)
		return rh_fail_oom(err);
	return failed ? rh_fail(err, RH_EIO, "cannot write \"%s\": %s", name, strerror(cause)) : 0;
}

static int view_cannot_make(const char *path, bool chosen, struct rh_error *err)
{
	return rh_fail(err, RH_EIO, "cannot write \"%s\": %s%s", path, strerror(errno),
	               chosen ? "" : "; name another file with -o FILE");
}

/* A reader sees the old page or the whole new one. It is for this user alone, as the run is. */
static int view_replace(const char *path, bool chosen, const struct rh_kept *kept, struct rh_error *err)
{
	rh_auto_free char *temporary = rh_asprintf("%s.XXXXXX", path);
	int fd = temporary ? mkostemp(temporary, O_CLOEXEC) : -1;
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	int r;

	if (!temporary)
		return rh_fail_oom(err);
	if (!out)
		return view_cannot_make(path, chosen, err);
	r = view_write(out, path, kept, err);
	if (r == 0 && rename(temporary, path) < 0)
		r = view_cannot_make(path, chosen, err);
	if (r < 0)
		(void)unlink(temporary);
	return r;
}

/* What is not a regular file is written to, not replaced: a pipe, a device. */
static int view_save(const char *path, bool chosen, const struct rh_kept *kept, struct rh_error *err)
{
	struct stat st;
	FILE *out;

	if (lstat(path, &st) < 0 || S_ISREG(st.st_mode))
		return view_replace(path, chosen, kept, err);
	out = fopen(path, "we");
	return out ? view_write(out, path, kept, err) : view_cannot_make(path, chosen, err);
}

static int view_print(const struct rh_kept *kept, struct rh_error *err)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	return out ? view_write(out, "standard output", kept, err) : view_cannot_make("standard output", true, err);
}

/* Ends when the opener does, which most desktops' do at once. */
static int view_open(const char *path, struct rh_error *err)
{
	char *const argv[] = {(char[]){VIEW_OPENER}, (char *)path, NULL};
	static const struct rh_spawn_fd fds[] = {{RH_SPAWN_NULL, STDIN_FILENO}};
	const struct rh_spawn how = {.program = VIEW_OPENER,
	                             .argv = argv,
	                             .envp = environ,
	                             .place = RH_SPAWN_WITH_US,
	                             .fds = fds,
	                             .fd_count = sizeof(fds) / sizeof(fds[0])};
	int status = 0;
	pid_t pid;
	int r = rh_spawn(&how, &pid, err);

	if (r < 0)
		return rh_wrap(err, RH_EIO, "cannot open \"%s\" with " VIEW_OPENER, path);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return rh_fail(err, RH_EIO, VIEW_OPENER " could not open \"%s\"; open it in a browser", path);
}

static int view_make(const struct rh_cli *cli, const struct rh_kept *kept, struct rh_error *err)
{
	const char *chosen = rh_cli_option(cli, "output");
	rh_auto_free char *path = chosen ? rh_strdup(chosen) : rh_path_join(kept->path, RH_KEEP_PAGE);
	int r;

	if (!path)
		return rh_fail_oom(err);
	if (rh_text_equal(chosen, "-"))
		return view_print(kept, err);
	r = view_save(path, chosen != NULL, kept, err);
	if (r < 0)
		return r;
	puts(path);
	return rh_cli_option(cli, "open") && fflush(stdout) == 0 ? view_open(path, err) : 0;
}

static int view_run(const struct rh_cli *cli)
{
	struct rh_error err = {0};
	rh_auto_kept kept = {0};
	int r = 0;

	if (rh_cli_option(cli, "open") && rh_text_equal(rh_cli_option(cli, "output"), "-"))
		r = rh_fail(&err, RH_EINVAL, "option --open: there is no file to open with -o -");
	if (r == 0 && rh_text_equal(rh_cli_option(cli, "output"), ""))
		r = rh_fail(&err, RH_EINVAL, "option --output: name a file, or - for standard output");
	if (r == 0)
		r = cli->operand_count > 0 ? rh_kept_find(cli->operands[0], false, &kept, &err) : view_find_newest(&kept, &err);
	if (r == 0)
		r = view_make(cli, &kept, &err);
	return rh_cli_end(cli, r, &err);
}

static const struct rh_option view_options[] = {
	{"output", 'o', "FILE", NULL,
     "write FILE, or standard output for - (default: " RH_KEEP_PAGE " in the run's folder)"},
	{"open", 0, NULL, NULL, "open the file with " VIEW_OPENER},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_view = {
	.name = "view",
	.synopsis = "[JOB]",
	.summary = "write a run as one HTML file: time line, first fault, use of processors and memory, logs, metrics",
	.details =
		"JOB is the name of a job or a run, see `roundhouse ls`; without it the newest run counts. The file needs no "
		"server and no\n"
		"network. Of very long logs it has the start and the end. Values of Secrets are left out; what the job file "
		"and the\n"
		"logs show otherwise is in it. A run that goes on is shown as it is now.",
	.options = view_options,
	.operands_max = 1,
	.run = view_run,
	.names = "ls -o name",
};
