/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2, against nghttpd. */
#include "kube/http/http.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "kube/https.h"

static size_t count_sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(dir);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		char target[64] = {0};

		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0)
			count += rh_starts_with(target, "socket:") ? 1 : 0;
	}
	(void)closedir(dir);
	return count;
}

/* HTTP/2: many calls, one connection. */
static void test_h2__multiplexed(void **state)
{
	struct rh_http_request request = {.method = "GET", .path = "/ok"};
	struct rh_http_request big = {.method = "GET", .path = "/big"};
	struct https_server server = {0};
	struct https_client client = {0};
	struct https_call calls[100] = {0};
	rh_auto_free char *ca = NULL;
	rh_auto_free char *cluster = NULL;
	size_t before = count_sockets();

	(void)state;
	if (access("/usr/sbin/nghttpd", X_OK) < 0) {
		print_message("SKIPPED: there is no nghttpd (package nghttp2-server)\n");
		skip();
	}
	https_start(&server, "--h2", "/usr/sbin/nghttpd");
	ca = https_file64(&server, "ca.crt");
	cluster = rh_asprintf("certificate-authority-data: %s", ca);
	https_open(&client, https_config(&server, cluster, ""));
	for (size_t i = 0; i < 100; i++)
		https_send(&client, i % 20 == 0 ? &big : &request, i % 20 == 0, &calls[i]);
	https_wait(&client);
	assert_in_range(count_sockets() - before, 1, 4);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(calls[i].status, 200);
		assert_int_equal(calls[i].body.length, i % 20 == 0 ? 1 << 20 : 3);
		https_call_deinit(&calls[i]);
	}
	https_close(&client);
	https_stop(&server);
}

/* The process that a server.py started. */
static pid_t child_of(pid_t pid)
{
	rh_auto_free char *path = rh_asprintf("/proc/%d/task/%d/children", (int)pid, (int)pid);
	rh_auto_free char *text = NULL;

	assert_int_equal(rh_file_read(path, 1000, &text, NULL, NULL), 0);
	return (pid_t)strtol(text, NULL, 10);
}

/* Which sockets we have, as one number. */
static unsigned long sum_sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned long sum = 0;

	assert_non_null(dir);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		char target[64] = {0};

		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0 && rh_starts_with(target, "socket:["))
			sum += strtoul(target + strlen("socket:["), NULL, 10);
	}
	(void)closedir(dir);
	return sum;
}

/* A server that falls silent, as behind a broken network: the next call does not go into the same connection. */
static void test_h2__silent_connection_is_left(void **state)
{
	struct rh_http_request request = {.method = "GET", .path = "/ok", .timeout = RH_SECOND};
	struct https_server server = {0};
	struct https_client client = {0};
	auto_https_call first = {0};
	auto_https_call lost = {0};
	auto_https_call after = {0};
	rh_auto_free char *ca = NULL;
	rh_auto_free char *cluster = NULL;
	unsigned long before;

	(void)state;
	if (access("/usr/sbin/nghttpd", X_OK) < 0)
		skip();
	https_start(&server, "--h2", "/usr/sbin/nghttpd");
	ca = https_file64(&server, "ca.crt");
	cluster = rh_asprintf("certificate-authority-data: %s", ca);
	https_open(&client, https_config(&server, cluster, ""));
	https_get(&client, "/ok", &first);
	before = sum_sockets();
	assert_int_equal(kill(child_of(server.pid), SIGSTOP), 0);
	https_send(&client, &request, false, &lost);
	https_wait(&client);
	assert_int_equal(kill(child_of(server.pid), SIGCONT), 0);
	assert_int_equal(lost.status, 0);
	https_get(&client, "/ok", &after);
	assert_int_equal(after.status, 200);
	assert_true(sum_sockets() != before);
	https_close(&client);
	https_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_h2__multiplexed),
		cmocka_unit_test(test_h2__silent_connection_is_left),
	};

	return cmocka_run_group_tests_name("kube/http_h2", tests, NULL, NULL);
}
