/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/os/spawn.h"
#include "base/str.h"
#include "config/keys.h"
#include "local/pod/images.h"
#include "local/preflight/frameworks.h"

#define SETUP_OPTION "--setup"

/** Find examples/setup of the installation or of the source tree. @param[out] ret_path owned by the caller */
static int setup_find(char **ret_path, struct rh_error *err)
{
	static const char *const places[] = {"/../" RH_DOCDIR "/examples/setup", "/../../../examples/setup"};
	rh_auto_free char *program = NULL;

	if (rh_program_folder(&program) < 0)
		return rh_fail_oom(err);
	for (size_t i = 0; program && i < sizeof(places) / sizeof(places[0]); i++) {
		rh_auto_free char *path = rh_asprintf("%s%s", program, places[i]);

		if (!path)
			return rh_fail_oom(err);
		if (access(path, X_OK) == 0) {
			*ret_path = rh_take(path);
			return 0;
		}
	}
	return rh_fail(err, RH_ENOENT,
	               "option " SETUP_OPTION ": examples/setup is not installed beside this program; make an environment "
	               "yourself, and name it with --image IMAGE=FOLDER");
}

/** Start it. @param out its standard output */
static int setup_spawn(const char *program, const char *framework, int out, pid_t *ret_pid, struct rh_error *err)
{
	char *argv[] = {(char *)program, (char *)"--folder", (char *)framework, NULL};
	const struct rh_spawn_fd fds[] = {{out, STDOUT_FILENO}, {RH_SPAWN_NULL, STDIN_FILENO}};
	const struct rh_spawn how = {
		.program = program, .argv = argv, .envp = environ, .place = RH_SPAWN_WITH_US, .fds = fds, .fd_count = 2};

	return rh_spawn(&how, ret_pid, err);
}

static int setup_wait(pid_t pid, const char *framework, struct rh_error *err)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return rh_fail(err, RH_EIO, "cannot wait for examples/setup: %s", strerror(errno));
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return rh_fail(err, RH_EIO, "option " SETUP_OPTION ": `examples/setup %s` failed; nothing was started", framework);
}

/** Its output is the folder of the environment, and a newline. @param[out] folder of @p size bytes */
static int setup_read(int fd, char *folder, size_t size, struct rh_error *err)
{
	size_t length = 0;
	ssize_t n = 1;

	while (n != 0 && length + 1 < size) {
		n = read(fd, folder + length, size - 1 - length);
		if (n < 0 && errno != EINTR)
			return rh_fail(err, RH_EIO, "cannot read from examples/setup: %s", strerror(errno));
		length += n > 0 ? (size_t)n : 0;
	}
	while (length > 0 && folder[length - 1] == '\n')
		length--;
	folder[length] = '\0';
	return 0;
}

/** Make the environment of @p framework. @param[out] folder of @p size bytes */
static int setup_make(const char *program, const char *framework, char *folder, size_t size, struct rh_error *err)
{
	rh_auto_close int in = -1;
	int fds[2];
	pid_t pid = 0;
	int r, waited;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return rh_fail(err, RH_EIO, "cannot make a pipe: %s", strerror(errno));
	in = fds[0];
	r = setup_spawn(program, framework, fds[1], &pid, err);
	(void)close(fds[1]);
	if (r < 0)
		return rh_wrap(err, r, "option " SETUP_OPTION);
	r = setup_read(in, folder, size, err);
	waited = setup_wait(pid, framework, r < 0 ? NULL : err);
	return r < 0 ? r : waited;
}

/** Let the environment of the image's framework stand for it. */
static int setup_image(const struct rh_session *session, const char *program, const char *image, struct rh_error *err)
{
	const char *framework = rh_framework_of_image(image);
	char folder[PATH_MAX];
	int r;

	if (!framework || rh_images_find(session->config, image))
		return 0;
	fprintf(stderr, "image %s: the environment of %s is to stand for it\n", image, framework);
	r = setup_make(program, framework, folder, sizeof(folder), err);
	if (r < 0)
		return r;
	fprintf(stderr,
	        "to keep the mapping, write in ~/.config/roundhouse/roundhouse.ini or ./roundhouse.ini:\n[images]\n%s = "
	        "%s\n",
	        image, folder);
	r = rh_config_set(session->config, RH_CONFIG_IMAGES_SECTION, image, folder, SETUP_OPTION);
	return r < 0 ? rh_fail_oom(err) : 0;
}

static int setup_list(const struct rh_session *session, const char *program, const struct rh_json *containers,
                      struct rh_error *err)
{
	int r = 0;

	for (const struct rh_json *item = rh_json_first(containers); item && r == 0; item = rh_json_next(item)) {
		const char *image = rh_json_string(rh_json_get(item, "image"));

		r = image ? setup_image(session, program, image, err) : 0;
	}
	return r;
}

static int setup_job(const struct rh_session *session, const char *program, const struct rh_job *job,
                     struct rh_error *err)
{
	static const char *const lists[] = {"spec.initContainers", "spec.containers"};
	int r = 0;

	for (size_t i = 0; i < job->spec_count && r == 0; i++) {
		for (size_t k = 0; k < 2 && r == 0; k++)
			r = setup_list(session, program, rh_json_at(job->specs[i].template_, lists[k]), err);
	}
	return r;
}

int rh_run_setup(const struct rh_session *session, const struct rh_jobs *jobs, struct rh_error *err)
{
	rh_auto_free char *program = NULL;
	int r = setup_find(&program, err);

	for (size_t i = 0; i < jobs->count && r == 0; i++)
		r = setup_job(session, program, jobs->items[i], err);
	return r;
}
