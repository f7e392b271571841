/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in a pod, as who asks for them sees it: with a real shim, over its socket. */
#include "local/shim/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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
#include "local/exec.h"
#include "local/runtime_spec.h"
#include "local/scratch.h"
#include "local/shim/harness.h"

/* Far beyond what a loaded machine needs. */
#define WAIT_MS 60000

/* One command that was asked for. */
struct asked {
	int socket;
	int output; /* what it writes comes out here */
	struct rh_str answers;
};

static int ask_connect(const struct test_shim *shim)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int cursor = 0;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/" RH_EXEC_SOCKET, shim->folder);
	while (connect(socket_, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		if (!test_shim_pause(&cursor))
			fail_msg("nobody listens: %s", strerror(errno));
	}
	return socket_;
}

/* Send bytes, with `count` descriptors where there are some. */
static void ask_send(int socket_, const char *bytes, size_t length, const int *fds, size_t count)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {0};
	struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	struct cmsghdr *part;

	if (count > 0) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(part), fds, count * sizeof(int));
	}
	assert_int_equal(sendmsg(socket_, &message, MSG_NOSIGNAL), length);
}

/* Ask for what `request` says, with an empty standard input. */
static void ask(const struct test_shim *shim, const char *request, struct asked *ret_asked)
{
	int ends[2];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	*ret_asked = (struct asked){.socket = ask_connect(shim), .output = ends[0]};
	ask_send(ret_asked->socket, request, strlen(request), (const int[]){null, ends[1], ends[1]}, 3);
	(void)close(ends[1]);
	(void)close(null);
}

/* Wait until the answers have `text`. @return false when there will be no more */
static bool ask_await(struct asked *asked, const char *text)
{
	struct pollfd poll_ = {.fd = asked->socket, .events = POLLIN};
	char buffer[1024];
	ssize_t n;

	while (!strstr(rh_str_text(&asked->answers), text)) {
		if (poll(&poll_, 1, WAIT_MS) <= 0)
			fail_msg("no answer %s after: %s", text, rh_str_text(&asked->answers));
		n = recv(asked->socket, buffer, sizeof(buffer), 0);
		if (n <= 0)
			return false;
		rh_str_append_bytes(&asked->answers, buffer, (size_t)n);
	}
	return true;
}

/* Everything that the command wrote, until nobody can write any more. */
static char *ask_output(const struct asked *asked)
{
	rh_auto_str text = {0};
	char buffer[4096];
	ssize_t n;

	while ((n = read(asked->output, buffer, sizeof(buffer))) > 0)
		rh_str_append_bytes(&text, buffer, (size_t)n);
	return rh_str_take(&text);
}

static void ask_close(struct asked *asked)
{
	(void)close(asked->socket);
	(void)close(asked->output);
	rh_str_deinit(&asked->answers);
}

/* The last answer; the exit code of the request. */
static void ask_expect(const struct test_shim *shim, const char *name, const char *request, const char *answer)
{
	struct asked asked;

	ask(shim, request, &asked);
	if (!ask_await(&asked, answer))
		fail_msg("%s: %s", name, rh_str_text(&asked.answers));
	ask_close(&asked);
}

static void start_one(struct test_shim *shim)
{
	test_shim_add(shim, "containers", "main", "exec sleep 600");
	test_shim_start(shim);
}

static void test_exec__answers(void **state)
{
	struct test_shim *shim = *state;
	static const struct {
		const char *name;
		const char *request;
		const char *answer;
	} rows[] = {
		{"success", "{\"argv\":[\"true\"]}\n", "{\"exitCode\":0}\n"},
		{"failure", "{\"argv\":[\"sh\",\"-c\",\"exit 3\"]}\n", "{\"exitCode\":3}\n"},
		{"a signal", "{\"argv\":[\"sh\",\"-c\",\"kill -9 $$\"]}\n", "{\"exitCode\":137}\n"},
		{"a container by its name", "{\"container\":\"main\",\"argv\":[\"true\"]}\n", "{\"exitCode\":0}\n"},
		{"no such program", "{\"argv\":[\"no-such-program\"]}\n", "{\"exitCode\":127,\"error\":\"cannot start"},
		{"no program", "{\"argv\":[\"/\"]}\n", "{\"exitCode\":126,\"error\":\"cannot start"},
		{"no such container", "{\"container\":\"other\",\"argv\":[\"true\"]}\n",
	     "{\"exitCode\":1,\"error\":\"container \\\"other\\\" is not in pod \\\"p\\\", which has \\\"main\\\"\"}\n"},
		{"no command", "{\"argv\":[]}\n", "{\"exitCode\":1,\"error\":\"the request names no command"},
		{"an empty word for a command", "{\"argv\":[\"\"]}\n", "{\"exitCode\":1,\"error\":\"the request names no"},
		{"no words", "{\"argv\":[1]}\n", "{\"exitCode\":1,\"error\":\"the request names no command"},
		{"no list", "{\"argv\":\"true\"}\n", "{\"exitCode\":1,\"error\":\"the request names no command"},
		{"no JSON", "true\n", "{\"exitCode\":1,\"error\":\"the request names no command"},
		{"nothing", "\n", "{\"exitCode\":1,\"error\":\"the request names no command"},
	};

	start_one(shim);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ask_expect(shim, rows[i].name, rows[i].request, rows[i].answer);
}

static void test_exec__runs_as_the_container_does(void **state)
{
	struct test_shim *shim = *state;
	struct rh_json *container = test_shim_add(shim, "containers", "main", "exec sleep 600");
	struct asked asked;
	rh_auto_free char *text = NULL;

	assert_int_equal(rh_json_append(rh_json_get(container, "env"), rh_json_new_string("WORD=two words")), 0);
	assert_int_equal(rh_json_set_string(container, "cwd", "/usr"), 0);
	test_shim_start(shim);
	ask(shim, "{\"argv\":[\"sh\",\"-c\",\"pwd; echo \\\"$WORD $1\\\"; echo err >&2; cat\",\"sh\",\"a  b\"]}\n", &asked);
	assert_true(ask_await(&asked, "{\"pid\":"));
	assert_true(ask_await(&asked, "{\"exitCode\":0}\n"));
	text = ask_output(&asked);
	assert_string_equal(text, "/usr\ntwo words a  b\nerr\n");
	ask_close(&asked);
}

static void test_exec__takes_a_request_in_pieces(void **state)
{
	struct test_shim *shim = *state;
	static const char request[] = "{\"argv\":[\"echo\",\"whole\"]}\n";
	struct asked asked = {.socket = -1};
	rh_auto_free char *text = NULL;
	int ends[2];

	start_one(shim);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	asked = (struct asked){.socket = ask_connect(shim), .output = ends[0]};
	for (size_t i = 0; request[i]; i++)
		ask_send(asked.socket, &request[i], 1, (const int[]){ends[1], ends[1], ends[1]}, i == 0 ? 3 : 0);
	(void)close(ends[1]);
	assert_true(ask_await(&asked, "{\"exitCode\":0}\n"));
	text = ask_output(&asked);
	assert_string_equal(text, "whole\n");
	ask_close(&asked);
}

/* Who brings no streams, too few, or nothing at all must not hurt anybody else. */
static void test_exec__bears_bad_peers(void **state)
{
	struct test_shim *shim = *state;
	static const char request[] = "{\"argv\":[\"true\"]}\n";
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	rh_auto_free char *long_one = rh_alloc(70000);
	struct asked asked;

	start_one(shim);
	for (size_t count = 0; count < 3; count++) {
		asked = (struct asked){.socket = ask_connect(shim), .output = dup(null)};
		ask_send(asked.socket, request, strlen(request), (const int[]){null, null, null}, count);
		assert_true(ask_await(&asked, "brings no standard streams"));
		ask_close(&asked);
	}
	(void)close(ask_connect(shim));
	asked = (struct asked){.socket = ask_connect(shim), .output = dup(null)};
	memset(long_one, 'x', 70000);
	for (int i = 0; i < 100 && send(asked.socket, long_one, 70000, MSG_NOSIGNAL) > 0; i++)
		;
	assert_false(ask_await(&asked, "never"));
	ask_close(&asked);
	(void)close(null);
	ask_expect(shim, "after all of that", request, "{\"exitCode\":0}\n");
}

static size_t count_descriptors(const struct test_shim *shim)
{
	rh_auto_free char *path = rh_asprintf("/proc/%d/fd", (int)shim->pid);

	return test_scratch_count(path);
}

/* Four descriptors a command, and none of them stays with the shim. */
static void test_exec__keeps_no_descriptor(void **state)
{
	struct test_shim *shim = *state;
	int cursor = 0;
	size_t before;

	start_one(shim);
	ask_expect(shim, "first", "{\"argv\":[\"true\"]}\n", "{\"exitCode\":0}\n");
	before = count_descriptors(shim);
	for (int i = 0; i < 20; i++) {
		ask_expect(shim, "good", "{\"argv\":[\"true\"]}\n", "{\"exitCode\":0}\n");
		ask_expect(shim, "refused", "{\"argv\":[\"no-such\"]}\n", "{\"exitCode\":127");
		ask_expect(shim, "not understood", "{\"argv\":[]}\n", "{\"exitCode\":1");
	}
	while (count_descriptors(shim) > before) {
		if (!test_shim_pause(&cursor))
			fail_msg("%zu descriptors, not %zu", count_descriptors(shim), before);
	}
}

static void test_exec__waits_for_its_container(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *gate = rh_path_join(shim->folder, "gate");
	struct asked asked;
	rh_auto_free char *text = NULL;

	test_shim_add(shim, "init", "prepare", "while ! [ -e gate ]; do sleep 0.01; done");
	test_shim_add(shim, "containers", "main", "echo > started; exec sleep 600");
	test_shim_start(shim);
	test_shim_receive_start(shim, "prepare");
	ask(shim, "{\"argv\":[\"sh\",\"-c\",\"ls started; echo late\"]}\n", &asked);
	ask_expect(shim, "an init container runs already", "{\"container\":\"prepare\",\"argv\":[\"true\"]}\n",
	           "{\"exitCode\":0}\n");
	assert_int_equal(asked.answers.length, 0);
	assert_int_equal(rh_file_write_atomic(gate, "", 0, 0600, NULL), 0);
	assert_true(ask_await(&asked, "{\"exitCode\":0}\n"));
	text = ask_output(&asked);
	assert_non_null(strstr(text, "late\n"));
	ask_expect(shim, "and has ended now", "{\"container\":\"prepare\",\"argv\":[\"true\"]}\n",
	           "{\"exitCode\":1,\"error\":\"the container has ended\"}\n");
	ask_close(&asked);
}

/* Between two runs of a container that fails, a command waits for the next one. */
static void test_exec__waits_for_a_restart(void **state)
{
	struct test_shim *shim = *state;
	struct rh_shim_report report;
	struct asked asked;

	assert_int_equal(rh_json_set_string(shim->plan, "restartPolicy", "OnFailure"), 0);
	test_shim_add(shim, "containers", "main", "if [ -e again ]; then exec sleep 600; fi; echo > again; exit 1");
	test_shim_start(shim);
	test_shim_receive_start(shim, "main");
	assert_true(test_shim_receive(shim, &report));
	ask(shim, "{\"argv\":[\"sh\",\"-c\",\"exit 5\"]}\n", &asked);
	assert_true(ask_await(&asked, "{\"exitCode\":5}\n"));
	ask_close(&asked);
}

/* Who has asked and goes away while the command waits does not get it started. */
static void test_exec__forgets_who_went_away(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *gate = rh_path_join(shim->folder, "gate");
	struct asked asked;

	test_shim_add(shim, "init", "prepare", "while ! [ -e gate ]; do sleep 0.01; done");
	test_shim_add(shim, "containers", "main", "exec sleep 600");
	test_shim_start(shim);
	ask(shim, "{\"argv\":[\"sh\",\"-c\",\"echo > never\"]}\n", &asked);
	/* answered after the first one, so the first one has been received */
	ask_expect(shim, "second", "{\"container\":\"none\",\"argv\":[\"true\"]}\n", "is not in pod");
	ask_close(&asked);
	ask_expect(shim, "third", "{\"container\":\"none\",\"argv\":[\"true\"]}\n", "is not in pod");
	assert_int_equal(rh_file_write_atomic(gate, "", 0, 0600, NULL), 0);
	ask_expect(shim, "last", "{\"argv\":[\"sh\",\"-c\",\"! [ -e never ]\"]}\n", "{\"exitCode\":0}\n");
}

static void test_exec__hangs_up(void **state)
{
	struct test_shim *shim = *state;
	rh_auto_free char *text = NULL;
	struct asked asked;
	char ready[6];

	start_one(shim);
	ask(shim,
	    "{\"argv\":[\"sh\",\"-c\",\"trap 'echo hung up; exit' HUP; echo ready; while :; do sleep 0.01; done\"]}\n",
	    &asked);
	assert_int_equal(read(asked.output, ready, sizeof(ready)), sizeof(ready));
	assert_int_equal(shutdown(asked.socket, SHUT_RDWR), 0);
	text = ask_output(&asked);
	/* the shell may first report that its child got the signal, too */
	assert_non_null(strstr(text, "hung up\n"));
	ask_close(&asked);
	ask_expect(shim, "the pod goes on", "{\"argv\":[\"true\"]}\n", "{\"exitCode\":0}\n");
}

/* What a command leaves belongs to the container, as a daemon does that mpirun starts. */
static void test_exec__ends_with_its_container(void **state)
{
	static const struct {
		const char *name;
		const char *argv;
	} rows[] = {
		{"one that runs", "[\"sleep\",\"600\"]"},
		{"one that wants no end", "[\"sh\",\"-c\",\"trap '' TERM HUP; while :; do sleep 0.05; done\"]"},
		{"in a session of its own", "[\"setsid\",\"-f\",\"sleep\",\"600\"]"},
		{"without its environment", "[\"env\",\"-i\",\"/bin/sleep\",\"600\"]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *request = rh_asprintf("{\"argv\":%s}\n", rows[i].argv);
		struct rh_shim_report report;
		struct asked asked;
		void *own = NULL;

		(void)test_shim_setup(&own);
		test_shim_add(own, "containers", "main", "while ! [ -e gate ]; do sleep 0.01; done; exit 4");
		test_shim_add(own, "containers", "side", "exec sleep 600");
		test_shim_start(own);
		ask(own, request, &asked);
		assert_true(ask_await(&asked, "{\"pid\":"));
		/* the container may end, and this command with it, before it has ended by itself */
		ask_expect(own, rows[i].name, "{\"argv\":[\"sh\",\"-c\",\"echo > gate\"]}\n", "{\"exitCode\":");
		test_shim_receive_end(own, "main", &report);
		assert_int_equal(report.exit_code, 4);
		test_shim_await_alive(own, "main", 0);
		/* nobody holds the other end of its output any more */
		rh_free(ask_output(&asked));
		assert_int_equal(test_shim_alive(own, "side"), 1);
		ask_close(&asked);
		(void)test_shim_teardown(&own);
	}
}

static void test_exec__ends_with_the_pod(void **state)
{
	struct test_shim *shim = *state;
	struct asked asked;

	start_one(shim);
	ask(shim, "{\"argv\":[\"sleep\",\"600\"]}\n", &asked);
	assert_true(ask_await(&asked, "{\"pid\":"));
	test_shim_stop(shim, 20000000);
	assert_int_equal(test_shim_wait(shim), 0);
	/* the end by SIGTERM may be reported, or the shim may end first */
	(void)ask_await(&asked, "{\"exitCode\":143}\n");
	rh_free(ask_output(&asked));
	ask_close(&asked);
}

static void test_exec__refuses_while_the_pod_is_stopped(void **state)
{
	struct test_shim *shim = *state;

	test_shim_add(shim, "containers", "main", "trap 'echo reported' TERM; echo ready; while :; do sleep 0.01; done");
	test_shim_start(shim);
	test_shim_await_log(shim, "main", "ready");
	test_shim_stop(shim, 60000000);
	test_shim_await_log(shim, "main", "reported");
	ask_expect(shim, "stopped", "{\"argv\":[\"true\"]}\n", "{\"exitCode\":1,\"error\":\"the container has ended\"}\n");
	test_shim_stop(shim, 0);
	assert_int_equal(test_shim_wait(shim), 0);
}

/* More than there is room for: those beyond wait, and get their turn. */
static void test_exec__runs_many(void **state)
{
	struct test_shim *shim = *state;
	enum { COUNT = RH_SHIM_EXECS_MAX + 8 };
	rh_auto_free char *gate = rh_path_join(shim->folder, "gate");
	struct asked asked[COUNT];

	start_one(shim);
	for (int i = 0; i < COUNT; i++)
		ask(shim, "{\"argv\":[\"sh\",\"-c\",\"while ! [ -e gate ]; do sleep 0.1; done; exit 6\"]}\n", &asked[i]);
	for (int i = 0; i < RH_SHIM_EXECS_MAX; i++)
		assert_true(ask_await(&asked[i], "{\"pid\":"));
	assert_int_equal(rh_file_write_atomic(gate, "", 0, 0600, NULL), 0);
	for (int i = 0; i < COUNT; i++) {
		assert_true(ask_await(&asked[i], "{\"exitCode\":6}\n"));
		ask_close(&asked[i]);
	}
}

static void test_exec__sees_the_mounts(void **state)
{
	struct test_shim *shim = *state;
	struct rh_json *container = test_shim_add(shim, "containers", "main", "exec sleep 600");
	struct rh_json *mount = rh_json_new_object();
	rh_auto_free char *volume = rh_path_join(shim->folder, "volume");
	struct asked asked;
	rh_auto_free char *text = NULL;

	if (!rh_runtime_spec_can_mount())
		skip();
	assert_int_equal(rh_dir_make(volume, 0755, NULL), 0);
	assert_int_equal(rh_json_append(rh_json_ensure_array(container, "mounts"), mount), 0);
	assert_int_equal(rh_json_set_string(mount, "from", volume), 0);
	assert_int_equal(rh_json_set_string(mount, "to", "/no-such-folder/data"), 0);
	test_shim_start(shim);
	ask(shim, "{\"argv\":[\"sh\",\"-c\",\"echo kept > /no-such-folder/data/file; ls /no-such-folder/data\"]}\n",
	    &asked);
	assert_true(ask_await(&asked, "{\"exitCode\":0}\n"));
	text = ask_output(&asked);
	assert_string_equal(text, "file\n");
	ask_close(&asked);
}

/* The room for a socket's path is far smaller than that for a folder's. */
static void test_exec__listens_in_a_deep_folder(void **state)
{
	struct test_shim *shim = *state;
	static struct rh_shim_exec exec;
	rh_auto_str deep = {0};
	rh_auto_free char *socket_ = NULL;
	struct rh_error err = {0};

	rh_str_append(&deep, shim->folder);
	for (int i = 0; i < 20; i++)
		rh_str_append(&deep, "/a-name-of-some-length");
	assert_int_equal(rh_dir_make(rh_str_text(&deep), 0700, NULL), 0);
	assert_int_equal(rh_shim_exec_open(&exec, rh_str_text(&deep), &err), 0);
	socket_ = rh_path_join(rh_str_text(&deep), RH_EXEC_SOCKET);
	assert_int_equal(access(socket_, F_OK), 0);
	rh_shim_exec_close(&exec);
	assert_int_equal(rh_shim_exec_open(&exec, "/no/such/folder", &err), RH_EIO);
	assert_non_null(strstr(err.message, "/no/such/folder"));
	assert_int_equal(exec.listener, -1);
	rh_shim_exec_close(&exec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_exec__answers, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__runs_as_the_container_does, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__takes_a_request_in_pieces, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__bears_bad_peers, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__keeps_no_descriptor, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__waits_for_its_container, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__waits_for_a_restart, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__forgets_who_went_away, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__hangs_up, test_shim_setup, test_shim_teardown),
		cmocka_unit_test(test_exec__ends_with_its_container),
		cmocka_unit_test_setup_teardown(test_exec__ends_with_the_pod, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__refuses_while_the_pod_is_stopped, test_shim_setup,
	                                    test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__runs_many, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__sees_the_mounts, test_shim_setup, test_shim_teardown),
		cmocka_unit_test_setup_teardown(test_exec__listens_in_a_deep_folder, test_shim_setup, test_shim_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
