/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/channel.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/json.h"

#define ONE sizeof(struct rh_shim_stop)

struct fixture {
	struct rh_shim_channel line;
	int other;
	struct rh_str stops; /* what was asked for, in microseconds, each behind a space */
};

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	fixture->line.fd = pair[0];
	fixture->other = pair[1];
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	rh_shim_channel_deinit(&fixture->line);
	rh_str_deinit(&fixture->stops);
	if (fixture->other >= 0)
		(void)close(fixture->other);
	rh_free(fixture);
	return 0;
}

static void take_stop(void *arg, int64_t grace)
{
	struct fixture *fixture = arg;

	rh_str_appendf(&fixture->stops, " %lld", (long long)grace);
}

/* Everything that the other end can read now. */
static const char *read_other(const struct fixture *fixture, char *buffer, size_t size)
{
	ssize_t n = recv(fixture->other, buffer, size - 1, MSG_DONTWAIT);

	buffer[n > 0 ? n : 0] = '\0';
	return buffer;
}

static void test_channel__obeys_commands(void **state)
{
	static const struct {
		const char *name;
		struct rh_shim_stop commands[2];
		size_t pieces[4]; /* bytes of each; 0: none */
		const char *stops;
	} rows[] = {
		{"kill", {{0}}, {ONE}, " 0"},
		{"stop", {{1500000}}, {ONE}, " 1500000"},
		{"both at once", {{5}, {0}}, {2 * ONE}, " 5 0"},
		{"in pieces", {{INT64_C(0x0102030405060708)}, {9}}, {1, ONE, 2, ONE - 3}, " 72623859790382856 9"},
		{"no end yet", {{5}}, {ONE - 1}, ""},
		{"a negative time", {{-1}, {3}}, {2 * ONE}, " 3"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *fixture;
		void *own = NULL;

		(void)set_up(&own);
		fixture = own;
		for (size_t p = 0, sent = 0; p < 4 && rows[i].pieces[p]; sent += rows[i].pieces[p], p++) {
			const char *piece = (const char *)rows[i].commands + sent;

			assert_true(send(fixture->other, piece, rows[i].pieces[p], 0) > 0);
			assert_true(rh_shim_channel_receive(&fixture->line, take_stop, fixture));
		}
		if (strcmp(rh_str_text(&fixture->stops), rows[i].stops) != 0)
			fail_msg("%s: \"%s\"", rows[i].name, rh_str_text(&fixture->stops));
		(void)tear_down(&own);
	}
}

static void test_channel__sees_the_end(void **state)
{
	struct fixture *fixture = *state;
	const struct rh_shim_stop command = {0};

	assert_true(rh_shim_channel_receive(&fixture->line, take_stop, fixture));
	assert_int_equal(send(fixture->other, &command, ONE, 0), ONE);
	(void)close(fixture->other);
	fixture->other = -1;
	assert_false(rh_shim_channel_receive(&fixture->line, take_stop, fixture));
	assert_string_equal(rh_str_text(&fixture->stops), " 0");
	assert_int_equal(fixture->line.fd, -1);
	/* later messages do no harm */
	rh_shim_channel_note(&fixture->line, "x");
	rh_shim_channel_nudge(&fixture->line);
	rh_shim_channel_flush(&fixture->line);
	assert_false(rh_shim_channel_receive(&fixture->line, take_stop, fixture));
}

static void test_channel__nudges_only_what_was_read(void **state)
{
	struct fixture *fixture = *state;
	struct rh_shim_channel *line = &fixture->line;
	char buffer[1000];

	rh_shim_channel_nudge(line);
	rh_shim_channel_nudge(line);
	rh_shim_channel_nudge(line);
	assert_string_equal(read_other(fixture, buffer, sizeof(buffer)), "\n");
	rh_shim_channel_nudge(line);
	assert_string_equal(read_other(fixture, buffer, sizeof(buffer)), "\n");
	/* an unread report is no empty line */
	rh_shim_channel_note(line, "n");
	rh_shim_channel_nudge(line);
	rh_shim_channel_nudge(line);
	assert_string_equal(read_other(fixture, buffer, sizeof(buffer)), "{\"note\":\"n\"}\n\n");
}

static void test_channel__says_notes_and_reports(void **state)
{
	struct fixture *fixture = *state;
	struct rh_shim_report report = {.container = "main", .exit_code = 3, .reason = "Error"};
	struct rh_shim_report back;
	rh_auto(json) json = NULL;
	char buffer[2000];

	rh_shim_channel_note(&fixture->line, "");
	assert_string_equal(read_other(fixture, buffer, sizeof(buffer)), "");
	rh_shim_channel_note(&fixture->line, "a \"note\"\n");
	assert_string_equal(read_other(fixture, buffer, sizeof(buffer)), "{\"note\":\"a \\\"note\\\"\\n\"}\n");
	rh_shim_channel_report(&fixture->line, &report);
	(void)read_other(fixture, buffer, sizeof(buffer));
	assert_int_equal(rh_json_parse(buffer, strlen(buffer), &json, NULL), 0);
	assert_int_equal(rh_shim_report_parse(json, &back), 0);
	assert_int_equal(back.exit_code, 3);
}

/* A runner that does not read: nothing blocks, memory is bounded, and what was kept arrives whole. */
static void test_channel__never_blocks(void **state)
{
	struct fixture *fixture = *state;
	struct rh_shim_channel *line = &fixture->line;
	char buffer[65536];
	size_t lines = 0;

	for (int i = 0; i < 200000; i++)
		rh_shim_channel_note(line, "the same note again and again, so that every buffer is full in the end");
	assert_in_range(line->unsent.length, 1, 2 * 1024 * 1024);
	do {
		rh_shim_channel_flush(line);
		for (const char *at = read_other(fixture, buffer, sizeof(buffer)); *at; at++)
			lines += *at == '\n' ? 1 : 0;
	} while (buffer[0] != '\0');
	assert_int_equal(line->unsent.length, 0);
	assert_in_range(lines, 1000, 200000);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channel__obeys_commands),
		CASE(test_channel__sees_the_end),
		CASE(test_channel__nudges_only_what_was_read),
		CASE(test_channel__says_notes_and_reports),
		CASE(test_channel__never_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
