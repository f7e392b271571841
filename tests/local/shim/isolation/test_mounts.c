/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes at their mountPath, in processes whose mounts are their own. Where no namespace can be had, all of this is
 * skipped. */
#include "local/shim/isolation/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "local/runtime_spec.h"
#include "local/shim/harness.h"

static struct rh_json *add_mounts(struct rh_json *container)
{
	return rh_json_ensure_array(container, "mounts");
}

static void add_mount(struct rh_json *mounts, const char *from, const char *to, bool read_only)
{
	struct rh_json *mount = rh_json_new_object();

	assert_int_equal(rh_json_append(mounts, mount), 0);
	assert_int_equal(rh_json_set_string(mount, "from", from), 0);
	assert_int_equal(rh_json_set_string(mount, "to", to), 0);
	assert_int_equal(rh_json_set_bool(mount, "readOnly", read_only), 0);
}

/* A folder "vol" with a file "f" in the pod's directory. */
static char *make_volume(const struct test_shim *shim)
{
	char *volume = rh_path_join(shim->folder, "vol");
	rh_auto_free char *file = rh_asprintf("%s/f", volume);

	assert_int_equal(rh_dir_make(volume, 0755, NULL), 0);
	assert_int_equal(rh_file_write_atomic(file, "hello\n", 6, 0644, NULL), 0);
	return volume;
}

/* Run `script` with the volume at `to`. */
static void run_mounted(struct test_shim *shim, const char *to, bool read_only, const char *script)
{
	struct rh_shim_report report;
	rh_auto_free char *volume = make_volume(shim);
	struct rh_json *container = test_shim_add(shim, "containers", "main", script);

	add_mount(add_mounts(container), volume, to, read_only);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", &report);
	if (report.exit_code != 0) {
		rh_auto_free char *log = test_shim_log(shim, "main");

		fail_msg("at %s: %s%s", to, report.message, log);
	}
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_mounts__appear_at_their_path(void **state)
{
	static const struct {
		const char *name;
		const char *to;
		const char *script;
	} rows[] = {
		{"a folder that is there", "/mnt", "cat /mnt/f"},
		{"new in the root", "/roundhouse-test-data", "cat /roundhouse-test-data/f"},
		{"new, deep in the root", "/roundhouse-test-a/b/c", "cat /roundhouse-test-a/b/c/f"},
		{"new in another folder", "/mnt/roundhouse-test/x", "cat /mnt/roundhouse-test/x/f"},
		{"new in /etc", "/etc/roundhouse-test", "cat /etc/roundhouse-test/f && test -s /etc/passwd"},
		{"the workshop itself", "/tmp/roundhouse-test-x/y", "cat /tmp/roundhouse-test-x/y/f"},
		{"the rest stays", "/roundhouse-test-data",
	     "test -x /bin/sh && test -e /dev/null && test -d /proc/$$ && test -d /usr/bin && test -d /tmp && echo x > "
	     "/dev/null "
	     "&& test \"$(stat -c %a /tmp)\" = 1777"},
		{"files in the pod's directory stay", "/roundhouse-test-data", "test -f vol/f && touch new"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stat st;
		void *own = NULL;

		(void)test_shim_setup(&own);
		run_mounted(own, rows[i].to, false, rows[i].script);
		(void)test_shim_teardown(&own);
		/* the host has seen nothing of it */
		if (strstr(rows[i].to, "roundhouse-test") && stat(rows[i].to, &st) == 0)
			fail_msg("%s: \"%s\" was made on the host", rows[i].name, rows[i].to);
	}
}

/* A volume may cover what others need: their sources, the pod's own folder, /dev/null. */
static void test_mounts__over_what_others_lie_in(void **state)
{
	static const char *const rows[] = {"/tmp", "/dev", "/run", "/var/tmp", "/root", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;
		struct test_shim *shim;
		void *own = NULL;

		(void)test_shim_setup(&own);
		shim = own;
		{
			/* at last the folder that the pod's own lies in */
			rh_auto_free char *above = rh_path_folder(shim->folder);
			const char *to = rows[i] ? rows[i] : above;
			rh_auto_free char *volume = make_volume(shim);
			rh_auto_free char *file = rh_asprintf("%s/f", volume);
			rh_auto_free char *script = rh_asprintf(
				"grep -q hello %s/f && grep -q hello %s/deep/er/f && grep -q hello /etc/hosts && echo seen", to, to);
			rh_auto_free char *deep = rh_asprintf("%s/deep/er", to);
			struct rh_json *container = test_shim_add(shim, "containers", "main", script);
			struct rh_json *mounts = add_mounts(container);
			struct stat st;

			assert_int_equal(rh_json_set_string(container, "cwd", "/"), 0);
			if (stat(to, &st) == 0) {
				add_mount(mounts, volume, to, false);
				add_mount(mounts, volume, deep, false);
				add_mount(mounts, file, "/etc/hosts", false);
				test_shim_start(shim);
				test_shim_receive_end(shim, "main", &report);
				if (report.exit_code != 0)
					fail_msg("at %s: code %d: %s", to, report.exit_code, report.message);
			}
		}
		(void)test_shim_teardown(&own);
	}
}

/*
 * Enter a mount namespace that mounts of others do not reach, and whose own mounts propagate as a host's do. Network
 * namespaces of others have no place in it: removed, they would be gone here, too. Without root there is no such
 * namespace, and the host's has to do.
 */
static void enter_namespace(void)
{
	if (unshare(CLONE_NEWNS) < 0)
		return;
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	(void)umount2("/run/netns", MNT_DETACH);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL), 0);
}

static void test_mounts__leave_the_host_alone(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *before = NULL;
	rh_auto_free char *after = NULL;

	enter_namespace();
	assert_int_equal(rh_file_read("/proc/self/mounts", 1024 * 1024, &before, NULL, NULL), 0);
	run_mounted(shim, "/roundhouse-test-data", true, "cat /roundhouse-test-data/f");
	assert_int_equal(rh_file_read("/proc/self/mounts", 1024 * 1024, &after, NULL, NULL), 0);
	assert_string_equal(before, after);
}

static void test_mounts__read_only(void **state)
{
	run_mounted(*state, "/roundhouse-test-data", true,
	            "cat /roundhouse-test-data/f && ! touch /roundhouse-test-data/x");
}

static void test_mounts__written_to(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *path = rh_asprintf("%s/vol/new", shim->folder);
	struct stat st;

	run_mounted(shim, "/roundhouse-test-data", false, "echo x > /roundhouse-test-data/new");
	assert_int_equal(stat(path, &st), 0);
}

/* A file over a file, a volume inside of a volume, and a file where there is nothing. */
static void test_mounts__files_and_nesting(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *volume = make_volume(shim);
	rh_auto_free char *file = rh_asprintf("%s/f", volume);
	rh_auto_free char *other = rh_path_join(shim->folder, "other");
	struct rh_json *container = test_shim_add(shim, "containers", "main",
	                                          "grep -q hello /etc/hosts && test -f /roundhouse-test/inner/f && test -d "
	                                          "/roundhouse-test/inner && grep -q hello "
	                                          "/roundhouse-test-file && grep -q hello /etc/roundhouse-test/deep/file");
	struct rh_json *mounts = add_mounts(container);

	assert_int_equal(rh_dir_make(other, 0755, NULL), 0);
	add_mount(mounts, file, "/etc/hosts", false);
	add_mount(mounts, other, "/roundhouse-test", false);
	add_mount(mounts, volume, "/roundhouse-test/inner", false);
	add_mount(mounts, file, "/roundhouse-test-file", true);
	add_mount(mounts, file, "/etc/roundhouse-test/deep/file", true);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", &report);
	if (report.exit_code != 0)
		fail_msg("code %d: %s", report.exit_code, report.message);
}

static void test_mounts__are_one_containers_own(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *volume = make_volume(shim);

	add_mount(add_mounts(test_shim_add(shim, "containers", "with", "test -e /roundhouse-test-data/f")), volume,
	          "/roundhouse-test-data", false);
	test_shim_add(shim, "containers", "without", "test ! -e /roundhouse-test-data");
	test_shim_start(shim);
	for (int i = 0; i < 2;) {
		assert_true(test_shim_receive(shim, &report));
		if (report.running)
			continue;
		assert_int_equal(report.exit_code, 0);
		i++;
	}
}

/* A file system in memory: shared by the containers, limited, and nowhere to be seen afterwards. */
static void test_mounts__memory_is_shared(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *path = rh_path_join(shim->folder, "memory");
	struct rh_json *list = rh_json_ensure_array(shim->plan, "tmpfs");
	struct rh_json *item = rh_json_new_object();
	rh_auto_free char *file = rh_asprintf("%s/x", path);
	struct stat st;

	assert_int_equal(rh_dir_make(path, 0755, NULL), 0);
	assert_int_equal(rh_json_append(list, item), 0);
	assert_int_equal(rh_json_set_string(item, "path", path), 0);
	assert_int_equal(rh_json_set_integer(item, "size", 1048576), 0);
	add_mount(add_mounts(test_shim_add(shim, "init", "first", "echo x > /dev/shm/x")), path, "/dev/shm", false);
	add_mount(add_mounts(test_shim_add(shim, "containers", "main",
	                                   "test -s /dev/shm/x && ! head -c 2097152 /dev/zero > /dev/shm/y")),
	          path, "/dev/shm", false);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 0);
	assert_int_equal(test_shim_wait(shim), 0);
	assert_int_equal(stat(file, &st), -1);
}

static void test_mounts__missing_source_is_reported(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	add_mount(add_mounts(test_shim_add(shim, "containers", "main", "exit 0")), "/no/such/volume", "/mnt", false);
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 128);
	assert_string_equal(report.reason, "StartError");
	assert_non_null(strstr(report.message, "/no/such/volume"));
}

/* As a user who is not root, by way of a user namespace. The identity must not change. */
static void mount_as_nobody(struct test_shim *shim)
{
	rh_auto_free char *log = NULL;

	/* a change of user makes /proc/self root's, until an exec or this */
	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
	    !rh_runtime_spec_can_mount())
		_exit(77);
	run_mounted(shim, "/roundhouse-test-data", true,
	            "cat /roundhouse-test-data/f; id -u; ! touch /roundhouse-test-data/x");
	log = test_shim_log(shim, "main");
	_exit(rh_starts_with(log, "hello\n65534\n") ? 0 : 1);
}

static void test_mounts__without_root(void **state)
{
	struct test_shim *shim = *state;
	int status = 0;
	pid_t pid;

	if (geteuid() != 0)
		skip(); /* then all other tests here are this one */
	assert_int_equal(chown(shim->folder, 65534, 65534), 0);
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		mount_as_nobody(shim);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* 0 when a process that joins this one, in a chroot at `folder`, sees a file that is only there. */
static int join_in_chroot(const char *folder)
{
	rh_auto_free char *file = rh_path_join(folder, "inside");
	int status = 1;
	pid_t pid;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("/", folder, NULL, MS_BIND | MS_REC, NULL) < 0 || chroot(folder) < 0 || chdir("/") < 0 ||
	    mount("tmpfs", folder, "tmpfs", 0, NULL) < 0)
		return 77;
	if (rh_file_write_atomic(file, "", 0, 0600, NULL) < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		_exit(rh_shim_mounts_join(getppid(), NULL) == 0 && access(file, F_OK) == 0 ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void test_mounts__joined_in_a_chroot(void **state)
{
	const struct test_shim *shim = *state;
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(join_in_chroot(shim->folder));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_shim_setup, test_shim_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts__appear_at_their_path),
		cmocka_unit_test(test_mounts__over_what_others_lie_in),
		CASE(test_mounts__leave_the_host_alone),
		CASE(test_mounts__read_only),
		CASE(test_mounts__written_to),
		CASE(test_mounts__files_and_nesting),
		CASE(test_mounts__are_one_containers_own),
		CASE(test_mounts__memory_is_shared),
		CASE(test_mounts__missing_source_is_reported),
		CASE(test_mounts__without_root),
		CASE(test_mounts__joined_in_a_chroot),
	};

	if (!rh_runtime_spec_can_mount()) {
		(void)printf("SKIPPED: no mount namespace can be had here\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
