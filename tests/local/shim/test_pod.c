/* SPDX-License-Identifier: Apache-2.0 */
/* How a pod is ended: nothing of it may be left, whatever its processes do. */
#include "local/shim/pod.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/clock.h"
#include "base/os/file.h"
#include "local/shim/harness.h"
#include "local/shim/tree.h"
#include "random.h"

/* A descendant that left the session, and whose parent is gone; it says "orphan" once it is there. */
#define ORPHAN "(setsid sh -c 'echo orphan; exec sleep 1000' &) & wait; "
/* The same, deaf to everything but SIGKILL. */
#define DEAF_ORPHAN "(setsid sh -c 'trap \"\" TERM INT HUP; echo orphan; while :; do sleep 0.05; done' &) & wait; "
/* Wait for the orphan's word in the container's own log. */
#define SEEN "until grep -q orphan main.log; do sleep 0.01; done; "

static void start_main(struct test_shim *shim, const char *script)
{
	test_shim_add(shim, "containers", "main", script);
	test_shim_start(shim);
	test_shim_receive_start(shim, "main");
}

static void test_pod__ends_what_a_container_left(void **state)
{
	static const struct {
		const char *name;
		const char *script;
	} rows[] = {
		{"child in the background", "sleep 1000 & exit 3"},
		{"many children", "for i in 1 2 3 4 5 6 7 8; do sleep 1000 & done; exit 3"},
		{"own session", ORPHAN SEEN "exit 3"},
		{"deaf to SIGTERM", DEAF_ORPHAN SEEN "exit 3"},
		{"stopped", "sleep 1000 & kill -STOP $!; exit 3"},
		{"main killed", ORPHAN SEEN "kill -9 $$"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;
		struct test_shim *shim;
		void *own = NULL;

		(void)test_shim_setup(&own);
		shim = own;
		start_main(shim, rows[i].script);
		test_shim_receive_end(shim, "main", &report);
		/* the end is reported when all processes are gone, with the code of the first one */
		if (test_shim_alive(shim, NULL) != 0 || (report.exit_code != 3 && report.exit_code != 137))
			fail_msg("%s: code %d, %zu left", rows[i].name, report.exit_code, test_shim_alive(shim, NULL));
		assert_int_equal(test_shim_wait(shim), 0);
		(void)test_shim_teardown(&own);
	}
}

/* What one container left goes; another container's orphan, and the other container, stay. */
static void test_pod__separates_containers(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	test_shim_add(shim, "containers", "main", "while ! test -e go; do sleep 0.01; done; " ORPHAN SEEN "exit 3");
	test_shim_add(
		shim, "containers", "other",
		"(setsid sh -c 'echo orphan; exec sleep 1000' &) & wait; until grep -q orphan other.log; do sleep 0.01; "
		"done; touch go; exec sleep 1000");
	test_shim_start(shim);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 3);
	assert_int_equal(test_shim_alive(shim, "main"), 0);
	assert_int_equal(test_shim_alive(shim, "other"), 2);
	test_shim_stop(shim, 10000000);
	test_shim_receive_end(shim, "other", &report);
	assert_int_equal(report.signal, SIGTERM);
	assert_int_equal(test_shim_wait(shim), 0);
}

/* An orphan without session and mark of its container is nobody's: it goes with the pod. */
static void test_pod__ends_strangers_last(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	test_shim_add(shim, "containers", "main", "(setsid env -i sleep 1001 &) & wait; touch go; sleep 0.2; exit 3");
	test_shim_add(shim, "containers", "other", "until test -e go; do sleep 0.01; done; sleep 0.5; exit 4");
	test_shim_start(shim);
	test_shim_receive_end(shim, "other", &report);
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_pod__stop_is_sigterm_to_all(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *log = NULL;

	start_main(shim, "sh -c 'trap \"echo child; exit 0\" TERM; echo ready1; while :; do sleep 0.01; done' & "
	                 "trap 'echo parent; wait; exit 5' TERM; echo ready2; while :; do sleep 0.01; done");
	test_shim_await_log(shim, "main", "ready1");
	test_shim_await_log(shim, "main", "ready2");
	test_shim_stop(shim, 60000000);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 5);
	assert_int_equal(test_shim_wait(shim), 0);
	log = test_shim_log(shim, "main");
	assert_non_null(strstr(log, "child"));
	assert_non_null(strstr(log, "parent"));
}

/* A wrapper that dies at once must not cost its child the grace that it needs. */
static void test_pod__stop_gives_children_the_whole_grace(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *log = NULL;

	start_main(shim,
	           "sh -c 'trap \"sleep 2; echo saved; exit 0\" TERM; echo ready; while :; do sleep 0.01; done'; true");
	test_shim_await_log(shim, "main", "ready");
	test_shim_stop(shim, 60000000);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.signal, SIGTERM);
	log = test_shim_log(shim, "main");
	assert_non_null(strstr(log, "saved"));
}

static void test_pod__stop_ends_in_sigkill(void **state)
{
	static const struct {
		const char *name;
		const char *script;
	} rows[] = {
		{"deaf", "trap '' TERM; echo ready; while :; do sleep 0.05; done"},
		{"deaf orphan", DEAF_ORPHAN SEEN "trap '' TERM; echo ready; while :; do sleep 0.05; done"},
		{"answers by forking", "trap 'sleep 1000 & sleep 1000 &' TERM; echo ready; while :; do sleep 0.05; done"},
		{"stopped",
	     "(until grep -q '^State:.T' /proc/$$/status; do sleep 0.01; done; echo ready) & kill -STOP $$; sleep 1000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;
		struct test_shim *shim;
		void *own = NULL;

		(void)test_shim_setup(&own);
		shim = own;
		start_main(shim, rows[i].script);
		test_shim_await_log(shim, "main", "ready");
		test_shim_stop(shim, 300000);
		test_shim_receive_end(shim, "main", &report);
		if (report.exit_code != 137 || report.signal != SIGKILL || test_shim_alive(shim, NULL) != 0)
			fail_msg("%s: code %d signal %d", rows[i].name, report.exit_code, report.signal);
		assert_int_equal(test_shim_wait(shim), 0);
		(void)test_shim_teardown(&own);
	}
}

static void test_pod__second_stop_shortens(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	start_main(shim, "trap '' TERM; echo ready; while :; do sleep 0.05; done");
	test_shim_await_log(shim, "main", "ready");
	test_shim_stop(shim, INT64_C(3600000000));
	test_shim_stop(shim, 100000);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.signal, SIGKILL);
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_pod__kill_is_at_once(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	start_main(shim, DEAF_ORPHAN SEEN "trap 'touch asked' TERM; echo ready; while :; do sleep 0.05; done");
	test_shim_await_log(shim, "main", "ready");
	test_shim_stop(shim, 0);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.signal, SIGKILL);
	assert_string_equal(report.reason, "Error");
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_pod__stops_by_signals_of_its_own(void **state)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGHUP};

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct rh_shim_report report;
		struct test_shim *shim;
		void *own = NULL;

		(void)test_shim_setup(&own);
		shim = own;
		start_main(shim, "trap 'exit 6' TERM; echo ready; while :; do sleep 0.01; done");
		test_shim_await_log(shim, "main", "ready");
		assert_int_equal(kill(shim->pid, signals[i]), 0);
		test_shim_receive_end(shim, "main", &report);
		assert_int_equal(report.exit_code, 6);
		assert_int_equal(test_shim_wait(shim), 0);
		(void)test_shim_teardown(&own);
	}
}

static void test_pod__ends_with_its_runner(void **state)
{
	struct test_shim *shim = *state;

	start_main(shim, DEAF_ORPHAN SEEN "trap '' TERM; echo ready; while :; do sleep 0.05; done");
	test_shim_await_log(shim, "main", "ready");
	test_shim_hang_up(shim);
	assert_int_equal(test_shim_wait(shim), 0);
	assert_int_equal(test_shim_alive(shim, NULL), 0);
}

static void test_pod__detached_goes_on(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *log = NULL;

	assert_int_equal(rh_json_set_bool(shim->plan, "detached", true), 0);
	start_main(shim, "while ! test -e go; do sleep 0.01; done; echo done");
	test_shim_hang_up(shim);
	test_shim_add(shim, "init", "unused", ""); /* the running shim has its plan already */
	{
		rh_auto_free char *go = rh_path_join(shim->folder, "go");
		FILE *file = fopen(go, "w");

		assert_non_null(file);
		(void)fclose(file);
	}
	assert_int_equal(test_shim_wait(shim), 0);
	log = test_shim_log(shim, "main");
	assert_string_equal(log, "done\n");
}

/* Kill every child of this process: what a runner does with what a killed shim left to it. */
static void kill_orphans(void)
{
	rh_auto_shim_tree tree = {0};
	int status;

	(void)rh_shim_tree_signal_all(SIGKILL);
	while (waitpid(-1, &status, WNOHANG) > 0)
		continue;
}

static void test_pod__killed_shim_takes_first_processes_along(void **state)
{
	struct test_shim *shim = *state;

	test_shim_add(shim, "containers", "one", "trap '' TERM HUP; echo ready; exec sleep 1000");
	test_shim_add(shim, "containers", "two", "exec sleep 1000");
	test_shim_start(shim);
	test_shim_receive_start(shim, "one");
	test_shim_receive_start(shim, "two");
	assert_int_equal(kill(shim->pid, SIGKILL), 0);
	assert_true(WIFSIGNALED(test_shim_wait(shim)));
	test_shim_await_alive(shim, NULL, 0);
}

static void test_pod__killed_shim_leaves_the_rest_to_the_subreaper(void **state)
{
	struct test_shim *shim = *state;
	int cursor = 0;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	start_main(shim, DEAF_ORPHAN SEEN "echo ready; sleep 1000");
	test_shim_await_log(shim, "main", "ready");
	assert_int_equal(kill(shim->pid, SIGKILL), 0);
	assert_true(WIFSIGNALED(test_shim_wait(shim)));
	while (test_shim_alive(shim, NULL) > 0) {
		kill_orphans();
		assert_true(test_shim_pause(&cursor));
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

/* One pod, ended at a moment and in a way that the seed says. */
static void kill_somehow(uint64_t *seed, uint32_t round)
{
	static const char *const scripts[] = {
		"sleep 0.02; exit 0",
		"exec sleep 1000",
		"(setsid sh -c 'trap \"\" TERM; sleep 1000' &) & sleep 1000",
		"for i in 1 2 3 4 5; do (sleep 0.01; sleep 1000) & done; wait",
	};
	/* the last two go together; the shim may be gone when they are sent */
	static const struct rh_shim_stop commands[] = {{0}, {20000}, {10000000}, {0}};
	struct timespec moment = {0, (long)(test_random_below(seed, 30)) * 1000000};
	uint32_t way = test_random_below(seed, 4);
	struct test_shim *shim;
	void *own = NULL;
	int status;

	(void)test_shim_setup(&own);
	shim = own;
	test_shim_add(shim, "containers", "main", scripts[test_random_below(seed, 4)]);
	test_shim_add(shim, "containers", "side", scripts[test_random_below(seed, 4)]);
	test_shim_start(shim);
	(void)nanosleep(&moment, NULL);
	if (way == 0)
		test_shim_hang_up(shim);
	else if (way == 1)
		(void)send(shim->line, &commands[0], sizeof(*commands), MSG_NOSIGNAL);
	else if (way == 2)
		(void)send(shim->line, &commands[1], sizeof(*commands), MSG_NOSIGNAL);
	else
		(void)send(shim->line, &commands[2], 2 * sizeof(*commands), MSG_NOSIGNAL);
	status = test_shim_wait(shim);
	if (status != 0)
		fail_msg("round %u, way %u: status %d", round, way, status);
	/* fails when a process is left */
	(void)test_shim_teardown(&own);
}

static void test_pod__two_hundred_kills(void **state)
{
	uint64_t seed = 20261121;

	(void)state;
	for (uint32_t round = 0; round < 200; round++)
		kill_somehow(&seed, round);
}

/* The pod's own functions with a clock of the test: a rest doubles up to its most, and starts anew after ten minutes of
 * running. */
static void test_pod__rests_longer_each_time(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_plan plan = {0};
	struct rh_shim_channel line = {.fd = -1};
	struct rh_shim_pod pod;
	static const int64_t rests[] = {1, 2, 4, 8, 10, 10};
	int64_t now = 1000 * RH_SECOND;

	assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", "Always"), 0);
	assert_int_equal(rh_json_set_integer(shim->plan, "backoff", RH_SECOND), 0);
	assert_int_equal(rh_json_set_integer(shim->plan, "backoffMax", 10 * RH_SECOND), 0);
	test_shim_add(shim, "containers", "main", "");
	assert_int_equal(rh_shim_plan_parse(rh_json_copy(shim->plan), &plan, NULL), 0);
	assert_int_equal(rh_shim_pod_init(&pod, &plan, &line), 0);
	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++) {
		pod.containers[0].state = RH_SHIM_LEAVING;
		pod.containers[0].reported_at = RH_NEVER;
		pod.containers[0].began = now;
		pod.containers[0].due = now;
		assert_int_equal(rh_shim_pod_step(&pod, now), now + rests[i] * RH_SECOND);
		assert_int_equal(pod.containers[0].state, RH_SHIM_RESTING);
	}
	pod.containers[0].state = RH_SHIM_LEAVING;
	pod.containers[0].began = now - 600 * RH_SECOND;
	pod.containers[0].due = now;
	assert_int_equal(rh_shim_pod_step(&pod, now), now + RH_SECOND);
	assert_false(rh_shim_pod_done(&pod));
	rh_shim_pod_stop(&pod, RH_SECOND, now);
	assert_true(rh_shim_pod_done(&pod));
	rh_shim_pod_deinit(&pod);
	rh_shim_plan_deinit(&plan);
}

/* What the kernel has counted when a container ends by SIGKILL. */
struct kills {
	int64_t cgroup;     /* more than at its start */
	const char *before; /* /proc/vmstat at its start; NULL: there is none */
	const char *after;  /* likewise at its end */
	bool passed_on;     /* as the exit code of a shell */
};

static void put_vmstat(const struct test_shim *shim, const char *text)
{
	rh_auto_free char *path = rh_asprintf("%s/proc/vmstat", shim->folder);

	(void)unlink(path);
	if (text)
		assert_int_equal(rh_file_write_atomic(path, text, strlen(text), 0644, NULL), 0);
}

static void end_by_sigkill(struct test_shim *shim, const struct kills *kills, struct rh_shim_report *ret_report)
{
	struct rh_shim_limits_options options = {.root = shim->folder, .name = "x"};
	struct rh_shim_channel line = {.fd = -1};
	struct rh_shim_plan plan = {0};
	struct rh_shim_container *container;
	struct rh_shim_pod pod;

	assert_int_equal(rh_shim_plan_parse(rh_json_copy(shim->plan), &plan, NULL), 0);
	assert_int_equal(rh_shim_pod_init(&pod, &plan, &line), 0);
	container = &pod.containers[0];
	assert_int_equal(rh_shim_limits_new(&options, &container->limits, NULL), 0);
	container->kills = rh_shim_limits_kills(container->limits) - kills->cgroup;
	pod.root = shim->folder;
	put_vmstat(shim, kills->before);
	container->machine_kills_known = rh_shim_limits_machine_kills(pod.root, &container->machine_kills);
	put_vmstat(shim, kills->after);
	container->state = RH_SHIM_LEAVING;
	container->due = 0;
	container->reported_at = RH_NEVER;
	container->report.signal = kills->passed_on ? 0 : SIGKILL;
	container->report.exit_code = 128 + SIGKILL;
	rh_copy(container->report.reason, sizeof(container->report.reason), "Error");
	(void)rh_shim_pod_step(&pod, 1);
	assert_int_equal(container->state, RH_SHIM_ENDED);
	*ret_report = container->report;
	rh_shim_pod_deinit(&pod);
	rh_shim_plan_deinit(&plan);
}

/* In place: the pod keeps the file open. */
static void put_waits(const struct test_shim *shim, const char *text)
{
	rh_auto_free char *folder = rh_asprintf("%s/proc/self", shim->folder);
	rh_auto_free char *path = rh_asprintf("%s/schedstat", folder);
	rh_auto_close int fd = -1;

	assert_int_equal(rh_dir_make(folder, 0755, NULL), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A pod whose container has ended, but for its reaping, after it ran for @p ran. */
static void reap_late(const struct test_shim *shim, const char *before, const char *after, int64_t ran,
                      struct rh_shim_report *ret_report)
{
	struct rh_shim_channel line = {.fd = -1};
	struct rh_shim_plan plan = {0};
	struct rh_shim_container *container;
	struct rh_shim_pod pod;
	siginfo_t end;

	assert_int_equal(rh_shim_plan_parse(rh_json_copy(shim->plan), &plan, NULL), 0);
	assert_int_equal(rh_shim_pod_init(&pod, &plan, &line), 0);
	pod.root = shim->folder;
	container = &pod.containers[0];
	if (before)
		put_waits(shim, before);
	rh_shim_pod_rest(&pod);
	container->pid = fork();
	if (container->pid == 0)
		_exit(1);
	assert_int_equal(waitid(P_PID, (id_t)container->pid, &end, WEXITED | WNOWAIT), 0);
	container->state = RH_SHIM_RUNNING;
	container->report.started_at = rh_clock_wall() - ran;
	if (after)
		put_waits(shim, after);
	rh_shim_pod_reap(&pod, rh_clock_monotonic());
	assert_int_equal(container->state, RH_SHIM_LEAVING);
	assert_int_equal(container->report.exit_code, 1);
	*ret_report = container->report;
	rh_shim_pod_deinit(&pod);
	rh_shim_plan_deinit(&plan);
}

/* Of two replicas the one that failed first is named, also where its shim got no processor for a while. */
static void test_pod__an_end_counts_from_when_it_could_be_seen(void **state)
{
	static const struct {
		const char *name;
		const char *before, *after; /* /proc/self/schedstat at the rest and at the reaping; NULL: there is none */
		int64_t ran;
		int64_t late; /* the end is noted as so much earlier */
	} rows[] = {
		{"unknown", NULL, NULL, 60 * RH_SECOND, 0},
		{"at once", "7000 500000000 3\n", "9000 500000000 4\n", 60 * RH_SECOND, 0},
		{"a second late", "7000 500000000 3\n", "9000 1500000000 4\n", 60 * RH_SECOND, RH_SECOND},
		{"not before its start", "7000 500000000 3\n", "9000 9500000000 4\n", 2 * RH_SECOND, 2 * RH_SECOND},
		{"damaged", "7000 500000000 3\n", "-\n", 60 * RH_SECOND, 0},
	};
	struct test_shim *shim = *state;

	test_shim_add(shim, "containers", "main", "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t begin = rh_clock_wall();
		struct rh_shim_report report;

		reap_late(shim, rows[i].before, rows[i].after, rows[i].ran, &report);
		if (report.finished_at < begin - rows[i].late || report.finished_at > rh_clock_wall() - rows[i].late)
			fail_msg("%s: noted %lld us after the begin", rows[i].name, (long long)(report.finished_at - begin));
	}
}

static void put_cgroup_file(const struct test_shim *shim, const char *name, const char *text)
{
	rh_auto_free char *folder = rh_asprintf("%s/sys/fs/cgroup/x", shim->folder);
	rh_auto_free char *path = rh_asprintf("%s/sys/fs/cgroup/%s", shim->folder, name);

	assert_int_equal(rh_dir_make(folder, 0755, NULL), 0);
	assert_int_equal(rh_file_write_atomic(path, text, strlen(text), 0644, NULL), 0);
}

static void test_pod__separates_lack_of_memory_from_a_kill(void **state)
{
	static const struct {
		const char *name;
		struct kills kills;
		const char *reason;
		const char *word; /* in the message */
	} rows[] = {
		{"a kill", {0, "oom_kill 7\n", "oom_kill 7\n", false}, "Error", ""},
		{"in its own cgroup", {1, "oom_kill 7\n", "oom_kill 8\n", false}, "OOMKilled", ""},
		{"a shell that passes it on", {1, "oom_kill 7\n", "oom_kill 8\n", true}, "OOMKilled", ""},
		{"a shell beside it", {0, "oom_kill 7\n", "oom_kill 8\n", true}, "Error", ""},
		{"somewhere on the machine",
	     {0, "oom_kill 7\n", "oom_kill 8\n", false},
	     "Error",
	     "out-of-memory killer was active"},
		/* T1: a machine that never had one */
		{"the machine's first", {0, "oom_kill 0\n", "oom_kill 1\n", false}, "Error", "out-of-memory killer was active"},
		{"never on the machine", {0, "oom_kill 0\n", "oom_kill 0\n", false}, "Error", ""},
		{"unknown", {0, NULL, NULL, false}, "Error", ""},
		{"unknown at its start", {0, NULL, "oom_kill 5\n", false}, "Error", ""},
		{"unknown at its end", {0, "oom_kill 5\n", "nr_free_pages 5\n", false}, "Error", ""},
	};
	struct test_shim *shim = *state;
	rh_auto_free char *proc = rh_asprintf("%s/proc/self", shim->folder);
	rh_auto_free char *own = rh_asprintf("%s/cgroup", proc);

	assert_int_equal(rh_dir_make(proc, 0755, NULL), 0);
	assert_int_equal(rh_file_write_atomic(own, "0::/\n", 5, 0644, NULL), 0);
	put_cgroup_file(shim, "cgroup.controllers", "cpu memory\n");
	put_cgroup_file(shim, "cgroup.subtree_control", "cpu memory\n");
	put_cgroup_file(shim, "cgroup.procs", "");
	put_cgroup_file(shim, "x/cgroup.procs", "");
	put_cgroup_file(shim, "x/memory.events", "oom_kill 5\n");
	test_shim_add(shim, "containers", "main", "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report;

		end_by_sigkill(shim, &rows[i].kills, &report);
		if (strcmp(report.reason, rows[i].reason) != 0 || !strstr(report.message, rows[i].word) ||
		    (rows[i].word[0] == '\0') != (report.message[0] == '\0'))
			fail_msg("%s: %s: %s", rows[i].name, report.reason, report.message);
	}
}

/* An end before the stop was received is the container's own, even if it was not reported yet. */
static void test_pod__separates_own_ends_from_requested_ones(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	int cursor = 0;

	start_main(shim, "until test -e go; do sleep 0.01; done; exit 3");
	assert_int_equal(kill(shim->pid, SIGSTOP), 0);
	{
		rh_auto_free char *go = rh_path_join(shim->folder, "go");

		assert_int_equal(rh_file_write_atomic(go, "", 0, 0644, NULL), 0);
	}
	while (test_shim_alive(shim, "main") > 0)
		assert_true(test_shim_pause(&cursor));
	test_shim_stop(shim, 60000000);
	assert_int_equal(kill(shim->pid, SIGCONT), 0);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 3);
	assert_false(report.asked);
	assert_int_equal(test_shim_wait(shim), 0);
}

static void test_pod__reports_requested_ends(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	start_main(shim, "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done");
	test_shim_await_log(shim, "main", "ready");
	test_shim_stop(shim, 60000000);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 3);
	assert_true(report.asked);
	assert_int_equal(test_shim_wait(shim), 0);
}

static struct rh_json *add_sidecar(struct test_shim *shim, const char *name, const char *script)
{
	struct rh_json *container = test_shim_add(shim, "init", name, script);

	assert_int_equal(rh_json_set_bool(container, "sidecar", true), 0);
	return container;
}

/* Says when it ends, in a log that all share. */
#define UNTIL_TERM(name) "trap 'echo " name " >> ends; exit 0' TERM; echo up; while :; do sleep 0.01; done"

/* In order: sidecar, init container beside it, sidecar, regular one; then the sidecars from the last to the first. */
static void test_pod__sidecars_frame_the_others(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *path = rh_path_join(shim->folder, "ends");
	rh_auto_free char *ends = NULL;

	add_sidecar(shim, "one", UNTIL_TERM("one"));
	test_shim_add(shim, "init", "first", "until grep -q up one.log; do sleep 0.01; done; ! test -e two.log");
	add_sidecar(shim, "two", UNTIL_TERM("two"));
	test_shim_add(shim, "containers", "main",
	              "until grep -q up two.log; do sleep 0.01; done; echo main >> ends; exit 3");
	test_shim_start(shim);
	test_shim_receive_end(shim, "first", &report);
	assert_int_equal(report.exit_code, 0);
	test_shim_receive_end(shim, "main", &report);
	assert_int_equal(report.exit_code, 3);
	test_shim_receive_end(shim, "one", &report);
	assert_true(report.init);
	assert_int_equal(test_shim_wait(shim), 0);
	assert_int_equal(rh_file_read(path, 100, &ends, NULL, NULL), 0);
	assert_string_equal(ends, "main\ntwo\none\n");
}

/* Whatever the pod's policy is, and however it ends. */
static void test_pod__sidecars_are_restarted(void **state)
{
	static const char *const codes[] = {"0", "7"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		rh_auto_free char *script = rh_asprintf("echo x >> runs; exit %s", codes[i]);
		struct rh_shim_report report;
		void *own = NULL;

		(void)test_shim_setup(&own);
		add_sidecar(own, "helper", script);
		test_shim_add(own, "containers", "main", "until [ $(cat runs | wc -l) -ge 3 ]; do sleep 0.01; done");
		test_shim_start(own);
		test_shim_receive_end(own, "main", &report);
		assert_int_equal(report.exit_code, 0);
		assert_int_equal(test_shim_wait(own), 0);
		(void)test_shim_teardown(&own);
	}
}

/* One that does not listen is killed when the grace period is over; so it is when an init container has failed. */
static void test_pod__sidecars_do_not_keep_a_pod(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;

	assert_int_equal(rh_json_set_integer(shim->plan, "grace", 200000), 0);
	add_sidecar(shim, "deaf", "trap '' TERM; echo up; while :; do sleep 0.01; done");
	test_shim_add(shim, "init", "first", "until grep -q up deaf.log; do sleep 0.01; done; exit 4");
	test_shim_add(shim, "containers", "main", "exit 0");
	test_shim_start(shim);
	test_shim_receive_end(shim, "first", &report);
	assert_int_equal(report.exit_code, 4);
	test_shim_receive_end(shim, "deaf", &report);
	assert_int_equal(report.signal, SIGKILL);
	assert_int_equal(test_shim_wait(shim), 0);
}

/* A stop reaches the regular containers first: what they still say, a sidecar can still take. */
static void test_pod__sidecars_outlive_a_stop(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	rh_auto_free char *path = rh_path_join(shim->folder, "ends");
	rh_auto_free char *ends = NULL;

	add_sidecar(shim, "helper", UNTIL_TERM("helper"));
	test_shim_add(shim, "containers", "main",
	              "trap 'sleep 0.3; echo main >> ends; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
	test_shim_start(shim);
	test_shim_await_log(shim, "main", "ready");
	test_shim_await_log(shim, "helper", "up");
	test_shim_stop(shim, 60000000);
	test_shim_receive_end(shim, "helper", &report);
	assert_int_equal(test_shim_wait(shim), 0);
	assert_int_equal(rh_file_read(path, 100, &ends, NULL, NULL), 0);
	assert_string_equal(ends, "main\nhelper\n");
}

/* One that cannot be started holds up those behind it, as on a cluster, and a stop still ends the pod. */
static void test_pod__sidecar_that_cannot_start(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	struct rh_json *container = add_sidecar(shim, "helper", "");

	assert_int_equal(rh_json_set_string(container, "cwd", "/no/such/folder"), 0);
	test_shim_add(shim, "containers", "main", "echo never");
	test_shim_start(shim);
	for (int i = 0; i < 3; i++) {
		assert_true(test_shim_receive(shim, &report));
		assert_string_equal(report.container, "helper");
		assert_true(report.again);
	}
	test_shim_stop(shim, 60000000);
	test_shim_receive_end(shim, "helper", &report);
	assert_int_equal(test_shim_wait(shim), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_shim_setup, test_shim_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pod__ends_what_a_container_left),
		cmocka_unit_test(test_pod__stop_ends_in_sigkill),
		cmocka_unit_test(test_pod__stops_by_signals_of_its_own),
		cmocka_unit_test(test_pod__two_hundred_kills),
		CASE(test_pod__separates_containers),
		CASE(test_pod__ends_strangers_last),
		CASE(test_pod__stop_is_sigterm_to_all),
		CASE(test_pod__stop_gives_children_the_whole_grace),
		CASE(test_pod__second_stop_shortens),
		CASE(test_pod__kill_is_at_once),
		CASE(test_pod__ends_with_its_runner),
		CASE(test_pod__detached_goes_on),
		CASE(test_pod__killed_shim_takes_first_processes_along),
		CASE(test_pod__killed_shim_leaves_the_rest_to_the_subreaper),
		CASE(test_pod__rests_longer_each_time),
		CASE(test_pod__separates_lack_of_memory_from_a_kill),
		CASE(test_pod__an_end_counts_from_when_it_could_be_seen),
		CASE(test_pod__separates_own_ends_from_requested_ones),
		CASE(test_pod__reports_requested_ends),
		CASE(test_pod__sidecars_frame_the_others),
		CASE(test_pod__sidecars_are_restarted),
		CASE(test_pod__sidecars_do_not_keep_a_pod),
		CASE(test_pod__sidecars_outlive_a_stop),
		CASE(test_pod__sidecar_that_cannot_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
