/* SPDX-License-Identifier: Apache-2.0 */
/* Most machines delegate no cgroups, so a folder stands for their file systems; one test tries the real thing. */
#include "local/shim/isolation/limits.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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
#include "base/str.h"
#include "local/scratch.h"

/* Write ROOT/PATH and the folders above it. */
static void put(const char *root, const char *path, const char *text)
{
	rh_auto_free char *whole = rh_asprintf("%s/%s", root, path);
	rh_auto_free char *folder = rh_strdup(whole);

	*strrchr(folder, '/') = '\0';
	assert_int_equal(rh_dir_make(folder, 0755, NULL), 0);
	assert_int_equal(rh_file_write_atomic(whole, text, strlen(text), 0644, NULL), 0);
}

static char *get(const char *root, const char *path)
{
	rh_auto_free char *whole = rh_asprintf("%s/%s", root, path);
	char *text = NULL;

	if (rh_file_read(whole, 10000, &text, NULL, NULL) < 0)
		return rh_strdup("");
	return text;
}

static int set_up(void **state)
{
	*state = test_scratch();
	return 0;
}

static int tear_down(void **state)
{
	test_scratch_remove(*state);
	return 0;
}

/* A cgroup as its folder shows it. */
static void put_cgroup(const char *root, const char *path, const char *controllers)
{
	static const char *const names[] = {"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs"};

	for (int i = 0; i < 3; i++) {
		rh_auto_free char *file = rh_asprintf("sys/fs/cgroup%s/%s", path, names[i]);

		put(root, file, i < 2 ? controllers : "");
	}
}

static void test_limits__finds_the_nearest_parent(void **state)
{
	const char *root = *state;
	static const struct {
		const char *name;
		const char *own;
		const char *parent; /* below /sys/fs/cgroup; NULL: none */
	} rows[] = {
		{"the own one", "0::/good\n", "/good"},
		{"one above", "0::/good/leaf\n", "/good"},
		{"two above, past one without cpu", "0::/good/half/leaf\n", "/good"},
		{"names that only contain the words", "0::/fake\n", NULL},
		{"beside version 1", "3:cpuset:/\n1:cpu:/x\n0::/good\n", "/good"},
		{"version 1 only", "3:cpuset:/\n1:cpu:/good\n", NULL},
		{"nothing fits", "0::/half\n", NULL},
		{"at the root", "0::/\n", NULL},
	};

	put_cgroup(root, "", "");
	put_cgroup(root, "/good", "cpuset cpu io memory pids\n");
	put_cgroup(root, "/good/leaf", "");
	put_cgroup(root, "/good/half", "memory pids\n");
	put_cgroup(root, "/good/half/leaf", "");
	put_cgroup(root, "/half", "memory\n");
	put_cgroup(root, "/fake", "cpuset xmemory memoryx cpux\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *expected = rh_asprintf("%s/sys/fs/cgroup%s", root, rows[i].parent ? rows[i].parent : "");
		rh_auto_free char *found = NULL;

		put(root, "proc/self/cgroup", rows[i].own);
		found = rh_shim_limits_parent(root, NULL);
		if (!rh_text_equal(found, rows[i].parent ? expected : NULL))
			fail_msg("%s: %s", rows[i].name, found ? found : "none");
	}
}

static void test_limits__finds_the_mount_of_a_hybrid(void **state)
{
	const char *root = *state;
	rh_auto_free char *expected = rh_asprintf("%s/sys/fs/cgroup/unified", root);
	rh_auto_free char *found = NULL;

	put_cgroup(root, "/unified", "cpu memory\n");
	put(root, "proc/self/cgroup", "0::/\n");
	found = rh_shim_limits_parent(root, NULL);
	assert_non_null(found);
	assert_true(rh_starts_with(found, expected));
}

static void test_limits__writes_what_a_kubelet_writes(void **state)
{
	const char *root = *state;
	static const char *const files[] = {"memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", "cgroup.procs"};
	static const struct {
		const char *name;
		int64_t memory;
		int64_t cpu;
		const char *memory_max;
		const char *cpu_max;
	} rows[] = {
		{"both", 1048576, 1500, "1048576", "150000 100000"},
		{"memory", 4096, 0, "4096", ""},
		{"cpu", 0, 250, "", "25000 100000"},
		{"least cpu", 0, 1, "", "1000 100000"},
	};

	put_cgroup(root, "/good", "cpu memory\n");
	put(root, "sys/fs/cgroup/cgroup.controllers", "");
	put(root, "proc/self/cgroup", "0::/good\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_limits_options options = {
			.root = root, .name = "x", .memory = rows[i].memory, .cpu = rows[i].cpu};
		rh_auto(shim_limits) limits = NULL;
		rh_auto_free char *memory_max = NULL;
		rh_auto_free char *cpu_max = NULL;
		rh_auto_free char *procs = NULL;

		/* the kernel makes these files with the folder */
		for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
			rh_auto_free char *file = rh_asprintf("sys/fs/cgroup/good/x/%s", files[f]);

			put(root, file, "");
		}
		assert_int_equal(rh_shim_limits_new(&options, &limits, NULL), 0);
		assert_int_equal(rh_shim_limits_enter(limits), 0);
		memory_max = get(root, "sys/fs/cgroup/good/x/memory.max");
		cpu_max = get(root, "sys/fs/cgroup/good/x/cpu.max");
		procs = get(root, "sys/fs/cgroup/good/x/cgroup.procs");
		if (strcmp(memory_max, rows[i].memory_max) != 0 || strcmp(cpu_max, rows[i].cpu_max) != 0)
			fail_msg("%s: memory.max %s, cpu.max %s", rows[i].name, memory_max, cpu_max);
		assert_string_equal(procs, "0");
	}
}

/* As a machine has it whose controllers are all version 1's: each has a tree of its own. */
static void put_v1(const char *root, const char *memory, const char *cpu)
{
	rh_auto_free char *own = rh_asprintf("9:name=systemd:/\n4:memory:%s\n2:cpu,cpuacct:%s\n0::/\n", memory, cpu);
	rh_auto_free char *memory_procs = rh_asprintf("sys/fs/cgroup/memory%s/cgroup.procs", memory);
	rh_auto_free char *cpu_procs = rh_asprintf("sys/fs/cgroup/cpu%s/cgroup.procs", cpu);

	put(root, "proc/self/cgroup", own);
	put(root, memory_procs, "");
	put(root, cpu_procs, "");
	put(root, "sys/fs/cgroup/unified/cgroup.controllers", "");
}

static void test_limits__of_version_1(void **state)
{
	const char *root = *state;
	static const char *const files[] = {
		"memory/mine/x/memory.limit_in_bytes",
		"memory/mine/x/memory.memsw.limit_in_bytes",
		"memory/mine/x/cgroup.procs",
		"cpu/x/cpu.cfs_period_us",
		"cpu/x/cpu.cfs_quota_us",
		"cpu/x/cgroup.procs",
	};
	static const char *const texts[] = {"1048576", "1048576", "0", "100000", "150000", "0"};
	struct rh_shim_limits_options options = {.root = root, .name = "x", .memory = 1048576, .cpu = 1500};
	rh_auto(shim_limits) limits = NULL;

	put_v1(root, "/mine", "");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		rh_auto_free char *path = rh_asprintf("sys/fs/cgroup/%s", files[i]);

		put(root, path, "");
	}
	put(root, "proc/self/cgroup", "4:memory:/mine\n2:cpu,cpuacct:/gone/elsewhere\n0::/\n");
	assert_int_equal(rh_shim_limits_check(root, NULL), 0);
	assert_int_equal(rh_shim_limits_new(&options, &limits, NULL), 0);
	assert_int_equal(rh_shim_limits_enter(limits), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		rh_auto_free char *path = rh_asprintf("sys/fs/cgroup/%s", files[i]);
		rh_auto_free char *text = get(root, path);

		if (strcmp(text, texts[i]) != 0)
			fail_msg("%s: %s", files[i], text);
	}
	assert_int_equal(rh_shim_limits_kills(limits), 0);
	put(root, "sys/fs/cgroup/memory/mine/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	assert_int_equal(rh_shim_limits_kills(limits), 2);
}

static void test_limits__says_what_is_in_the_way(void **state)
{
	const char *root = *state;
	struct rh_error err = {0};

	put(root, "proc/self/cgroup", "0::/good\n");
	put_cgroup(root, "/good", "memory\n");
	put(root, "sys/fs/cgroup/cgroup.controllers", "");
	assert_int_equal(rh_shim_limits_check(root, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "this user may write no cgroup that delegates"));
	/* no cgroup.procs that could be written, as for a user who is not root */
	put(root, "proc/self/cgroup", "4:memory:/mine\n1:cpu:/mine\n0::/\n");
	put(root, "sys/fs/cgroup/memory/mine/tasks", "");
	assert_int_equal(rh_shim_limits_check(root, &err), RH_ENOENT);
	assert_non_null(strstr(err.message, "controller memory is of cgroups version 1"));
	assert_non_null(strstr(err.message, "sys/fs/cgroup/memory/mine\""));
}

/* What this very machine does, where it lets us: a process beyond its memory is killed, and that is seen. */
static void test_limits__are_kept_by_the_kernel(void **state)
{
	struct rh_shim_limits_options options = {.root = "", .memory = 16 * 1024 * 1024, .cpu = 500};
	rh_auto(shim_limits) limits = NULL;
	char name[64];
	int status = 0;
	pid_t pid;

	(void)state;
	(void)snprintf(name, sizeof(name), RH_SHIM_LIMITS_PREFIX "%d-test", (int)getpid());
	options.name = name;
	if (rh_shim_limits_check("", NULL) < 0 || rh_shim_limits_new(&options, &limits, NULL) < 0)
		skip();
	(void)fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (rh_shim_limits_enter(limits) < 0)
			_exit(77);
		(void)mmap(NULL, 64UL * 1024 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(rh_shim_limits_kills(limits) > 0);
}

static void test_limits__counts_kills(void **state)
{
	const char *root = *state;
	struct rh_shim_limits_options options = {.root = root, .name = "x"};
	rh_auto(shim_limits) limits = NULL;

	put_cgroup(root, "/good", "cpu memory\n");
	put(root, "sys/fs/cgroup/cgroup.controllers", "");
	put(root, "sys/fs/cgroup/good/x/cgroup.procs", "");
	put(root, "proc/self/cgroup", "0::/good\n");
	assert_int_equal(rh_shim_limits_new(&options, &limits, NULL), 0);
	assert_int_equal(rh_shim_limits_kills(limits), 0);
	put(root, "sys/fs/cgroup/good/x/memory.events", "low 0\nhigh 1\nmax 7\noom 2\noom_kill 3\noom_group_kill 1\n");
	assert_int_equal(rh_shim_limits_kills(limits), 3);
	assert_int_equal(rh_shim_limits_kills(NULL), 0);
	assert_int_equal(rh_shim_limits_enter(NULL), 0);
}

static void test_limits__counts_kills_of_the_machine(void **state)
{
	const char *root = *state;
	int64_t kills;

	assert_false(rh_shim_limits_machine_kills(root, &kills));
	put(root, "proc/vmstat", "nr_free_pages 5\noom_kill 12\noom_kill_x 3\n");
	assert_true(rh_shim_limits_machine_kills(root, &kills));
	assert_int_equal(kills, 12);
	put(root, "proc/vmstat", "nr_free_pages 5\noom_kill 0\n");
	assert_true(rh_shim_limits_machine_kills(root, &kills));
	assert_int_equal(kills, 0);
	put(root, "proc/vmstat", "nr_free_pages 5\n");
	assert_false(rh_shim_limits_machine_kills(root, &kills));
}

static void test_limits__counts_waits_for_a_processor(void **state)
{
	const char *root = *state;
	int none = rh_shim_limits_open_waits(root);
	rh_auto_close int fd = -1;
	rh_auto_close int own = -1;

	assert_int_equal(none, -1);
	assert_int_equal(rh_shim_limits_waited(none), 0);
	put(root, "proc/self/schedstat", "7000 2500999 3\n");
	fd = rh_shim_limits_open_waits(root);
	assert_int_equal(rh_shim_limits_waited(fd), 2500);
	/* of this process, where the kernel counts them: it has had a processor at least once */
	own = rh_shim_limits_open_waits("");
	assert_true(own < 0 || rh_shim_limits_waited(own) >= 0);
}

static void test_limits__removes_what_dead_shims_left(void **state)
{
	const char *root = *state;
	struct rh_shim_limits_options options = {.root = root, .name = "x"};
	rh_auto(shim_limits) limits = NULL;
	rh_auto_free char *good = rh_asprintf("%s/sys/fs/cgroup/good", root);
	rh_auto_free char *dead = rh_asprintf("%s/roundhouse-4194303-main", good);
	rh_auto_free char *living = rh_asprintf("%s/roundhouse-%d-main", good, (int)getpid());
	rh_auto_free char *strange = rh_asprintf("%s/other-4194303-main", good);
	struct stat st;

	put_cgroup(root, "/good", "cpu memory\n");
	put(root, "sys/fs/cgroup/cgroup.controllers", "");
	put(root, "sys/fs/cgroup/good/x/cgroup.procs", "");
	put(root, "proc/self/cgroup", "0::/good\n");
	assert_int_equal(mkdir(dead, 0755) | mkdir(living, 0755) | mkdir(strange, 0755), 0);
	assert_int_equal(rh_shim_limits_new(&options, &limits, NULL), 0);
	assert_int_equal(stat(dead, &st), -1);
	assert_int_equal(stat(living, &st), 0);
	assert_int_equal(stat(strange, &st), 0);
}

static void test_limits__says_when_there_is_none(void **state)
{
	struct rh_shim_limits_options options = {.root = *state, .name = "x", .memory = 1};
	rh_auto(shim_limits) limits = NULL;
	struct rh_error err = {0};

	assert_int_equal(rh_shim_limits_new(&options, &limits, &err), RH_ENOENT);
	assert_null(limits);
	assert_non_null(strstr(err.message, "cgroup"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_limits__finds_the_nearest_parent),     CASE(test_limits__finds_the_mount_of_a_hybrid),
		CASE(test_limits__writes_what_a_kubelet_writes), CASE(test_limits__counts_kills),
		CASE(test_limits__counts_kills_of_the_machine),  CASE(test_limits__says_when_there_is_none),
		CASE(test_limits__removes_what_dead_shims_left), CASE(test_limits__of_version_1),
		CASE(test_limits__says_what_is_in_the_way),      CASE(test_limits__are_kept_by_the_kernel),
		CASE(test_limits__counts_waits_for_a_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
