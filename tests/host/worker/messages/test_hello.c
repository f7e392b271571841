/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/reply.h"
#include "host/worker/messages/hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host/fixture.h"
#include "host/worker/messages/wire.h"

/** A slot as a worker has it once the plugin of the fixture is loaded. */
static void open_slot(struct fixture *fixture, struct rh_str *out)
{
	fixture_open(fixture, fixture_plugin(), fixture_job);
	rh_hello_put(out, fixture->host->slots[0], NULL);
	assert_false(out->failed);
}

static void assert_same_texts(const struct rh_kind *a, const struct rh_kind *b)
{
	assert_string_equal(a->group, b->group);
	assert_string_equal(a->kind, b->kind);
	assert_string_equal(a->replicas_field, b->replicas_field);
	assert_true(rh_text_equal(a->leader_fallback, b->leader_fallback));
	assert_true(rh_text_equal(a->port_name, b->port_name));
	assert_true(rh_text_equal(a->spec_schema, b->spec_schema));
	assert_true(rh_text_equal(a->contract, b->contract));
}

static void test_hello__a_kind_is_the_same_at_both_ends(void **state)
{
	auto_fixture fixture = {0};
	rh_auto_str message = {0};
	rh_auto(hello) hello = NULL;
	const struct rh_kind *theirs, *ours;

	(void)state;
	open_slot(&fixture, &message);
	assert_int_equal(rh_hello_read(&message, &hello, NULL), 0);
	assert_null(message.data);
	assert_int_equal(rh_hello_state(hello), RH_PLUGIN_READY);
	assert_string_equal(rh_hello_plugin(hello)->name, "fake");
	assert_string_equal(rh_hello_plugin(hello)->release, "1.2.3");
	assert_false(rh_hello_has(hello, RH_OPERATION_POD));
	theirs = fixture.host->slots[0]->kinds[0];
	ours = rh_hello_kind(hello, false, 0);
	assert_same_texts(ours, theirs);
	assert_int_equal(ours->port, theirs->port);
	assert_int_equal(ours->flags, theirs->flags);
	for (size_t i = 0; theirs->types[i] || ours->types[i]; i++) {
		assert_string_equal(ours->types[i]->name, theirs->types[i]->name);
		assert_int_equal(ours->types[i]->max_replicas, theirs->types[i]->max_replicas);
		assert_int_equal(ours->types[i]->flags, theirs->types[i]->flags);
	}
	assert_int_equal(rh_abi_check_kind(ours, NULL), 0);
	assert_null(rh_hello_kind(hello, false, 1));
	assert_null(rh_hello_kind(hello, true, 0));
}

static void test_hello__notes_are_no_part_of_the_description(void **state)
{
	auto_fixture fixture = {0};
	rh_auto_str plain = {0}, noted = {0}, notes = {0};
	rh_auto(hello) a = NULL;
	rh_auto(hello) b = NULL;
	size_t cursor = 0;
	int32_t level = -1;

	(void)state;
	open_slot(&fixture, &plain);
	for (int32_t i = 0; i < 2; i++) {
		rh_wire_put_byte(&notes, 1);
		rh_wire_put_int(&notes, i);
		rh_wire_put_text(&notes, i == 0 ? "first" : "second");
	}
	rh_hello_put(&noted, fixture.host->slots[0], &notes);
	assert_int_equal(rh_hello_read(&plain, &a, NULL), 0);
	assert_int_equal(rh_hello_read(&noted, &b, NULL), 0);
	assert_true(rh_hello_equal(a, b));
	assert_null(rh_hello_note(a, &cursor, &level));
	assert_string_equal(rh_hello_note(b, &cursor, &level), "first");
	assert_int_equal(level, 0);
	assert_string_equal(rh_hello_note(b, &cursor, &level), "second");
	assert_int_equal(level, 1);
	assert_null(rh_hello_note(b, &cursor, &level));
}

static void test_hello__what_is_cut_short_is_refused(void **state)
{
	auto_fixture fixture = {0};
	rh_auto_str whole = {0};

	(void)state;
	open_slot(&fixture, &whole);
	for (size_t length = 0; length < whole.length; length++) {
		rh_auto_str part = {0};
		struct rh_hello *hello = NULL;

		rh_str_append_bytes(&part, whole.data, length);
		assert_int_equal(rh_hello_read(&part, &hello, NULL), RH_EPLUGIN);
		assert_null(hello);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello__a_kind_is_the_same_at_both_ends),
		cmocka_unit_test(test_hello__notes_are_no_part_of_the_description),
		cmocka_unit_test(test_hello__what_is_cut_short_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
