/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/support.h"

static void test_error__fail_fills_and_returns(void **state)
{
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_fail(&err, RH_EINVAL, "no %s in \"%s\"", "kind", "a.yaml"), RH_EINVAL);
	assert_int_equal(err.code, RH_EINVAL);
	assert_string_equal(err.message, "no kind in \"a.yaml\"");
	assert_non_null(strstr(err.file, "test_error.c"));
	assert_true(err.line > 0);
}

static void test_error__null_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(rh_fail(NULL, RH_EIO, "x"), RH_EIO);
	assert_int_equal(rh_wrap(NULL, RH_EIO, "x"), RH_EIO);
	assert_int_equal(rh_fail_oom(NULL), RH_ENOMEM);
}

static void test_error__oom_needs_no_memory(void **state)
{
	struct rh_error err = {0};

	(void)state;
	rh_mem_fail_after(0);
	rh_fail_oom(&err);
	rh_wrap(&err, RH_ENOMEM, "job %s", "a");
	rh_mem_fail_after(-1);
	assert_int_equal(err.code, RH_ENOMEM);
	assert_string_equal(err.message, "job a: out of memory");
}

static void test_error__a_later_failure_replaces(void **state)
{
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EIO, "a long first message");
	rh_fail(&err, RH_EINVAL, "second");
	assert_int_equal(err.code, RH_EINVAL);
	assert_string_equal(err.message, "second");
}

static void test_error__the_earlier_message_may_be_an_argument(void **state)
{
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EIO, "inner");
	rh_fail(&err, RH_EINVAL, "outer (%s)", err.message);
	assert_string_equal(err.message, "outer (inner)");
	rh_wrap(&err, RH_EINVAL, "again %s", err.message);
	assert_string_equal(err.message, "again outer (inner): outer (inner)");
}

static void test_error__wrap_puts_context_in_front(void **state)
{
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EINVAL, "spec is missing");
	assert_int_equal(rh_wrap(&err, RH_EINVAL, "job %s/%s", "default", "mnist"), RH_EINVAL);
	assert_string_equal(err.message, "job default/mnist: spec is missing");
	rh_wrap(&err, RH_EINVAL, "a.yaml");
	assert_string_equal(err.message, "a.yaml: job default/mnist: spec is missing");
}

/* Fill `text` with `length` times `c`. */
static const char *test_error_repeat(char *text, char c, size_t length)
{
	memset(text, c, length);
	text[length] = '\0';
	return text;
}

static void test_error__the_longest_message_is_whole(void **state)
{
	char text[RH_ERROR_MESSAGE_SIZE];
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EINVAL, "%s", test_error_repeat(text, 'x', RH_ERROR_MESSAGE_SIZE - 1));
	assert_string_equal(err.message, text);
}

static void test_error__longer_messages_are_cut_with_dots(void **state)
{
	char text[RH_ERROR_MESSAGE_SIZE + 1];
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EINVAL, "%s", test_error_repeat(text, 'x', RH_ERROR_MESSAGE_SIZE));
	assert_int_equal(strlen(err.message), RH_ERROR_MESSAGE_SIZE - 1);
	assert_string_equal(err.message + RH_ERROR_MESSAGE_SIZE - 5, "x...");
}

static void test_error__a_cut_leaves_characters_whole(void **state)
{
	for (size_t shift = 0; shift < 3; shift++) {
		struct rh_error err = {0};
		char text[RH_ERROR_MESSAGE_SIZE + 8] = {0};

		(void)state;
		for (size_t i = shift; i + 3 < sizeof(text); i += 3)
			memcpy(text + i, "\xE2\x82\xAC", 3);
		memset(text, 'x', shift);
		rh_fail(&err, RH_EINVAL, "%s", text);
		assert_true(strlen(err.message) >= RH_ERROR_MESSAGE_SIZE - 4);
		assert_string_equal(err.message + strlen(err.message) - 6, "\xE2\x82\xAC...");
	}
}

static void test_error__wrap_cuts_too(void **state)
{
	char text[RH_ERROR_MESSAGE_SIZE];
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EINVAL, "%s", test_error_repeat(text, 'x', RH_ERROR_MESSAGE_SIZE - 1));
	rh_wrap(&err, RH_EINVAL, "context");
	assert_true(strncmp(err.message, "context: xxx", 12) == 0);
	assert_string_equal(err.message + strlen(err.message) - 4, "x...");
	rh_wrap(&err, RH_EINVAL, "%s", test_error_repeat(text, 'y', RH_ERROR_MESSAGE_SIZE - 1));
	assert_int_equal(strlen(err.message), RH_ERROR_MESSAGE_SIZE - 1);
}

static void test_error__the_topic_stays_until_the_next_failure(void **state)
{
	struct rh_error err = {0};

	(void)state;
	rh_error_set_topic(NULL, RH_ERROR_UTF8);
	rh_fail(&err, RH_EPLUGIN, "edit(): not a field of yours");
	assert_int_equal(err.topic, RH_ERROR_OTHER);
	rh_error_set_topic(&err, RH_ERROR_CORE_FIELD);
	rh_wrap(&err, RH_EPLUGIN, "plugin %s", "p");
	assert_int_equal(err.topic, RH_ERROR_CORE_FIELD);
	rh_fail(&err, RH_EIO, "something else");
	assert_int_equal(err.topic, RH_ERROR_OTHER);
}

/* The reason may have colons, and quote what looks like the context. */
static void test_error__the_reason_is_what_was_wrapped_last(void **state)
{
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EINVAL, "plugin p, pod(): inner");
	assert_string_equal(rh_error_reason(&err), "plugin p, pod(): inner");
	rh_wrap(&err, RH_EINVAL, "no JSON");
	rh_wrap(&err, RH_EINVAL, "job %s", "a: plugin p, pod(): b");
	assert_string_equal(rh_error_reason(&err), "no JSON: plugin p, pod(): inner");
}

/* A context that leaves no room for the message is the message. */
static void test_error__the_reason_of_a_cut_context(void **state)
{
	char text[RH_ERROR_MESSAGE_SIZE];
	struct rh_error err = {0};

	(void)state;
	rh_fail(&err, RH_EINVAL, "inner");
	rh_wrap(&err, RH_EINVAL, "%s", test_error_repeat(text, 'y', RH_ERROR_MESSAGE_SIZE - 1));
	assert_ptr_equal(rh_error_reason(&err), err.message);
}

static void test_error__status_names(void **state)
{
	(void)state;
	assert_string_equal(rh_status_name(RH_OK), "RH_OK");
	assert_string_equal(rh_status_name(RH_EINVAL), "RH_EINVAL");
	assert_string_equal(rh_status_name(RH_ENOMEM), "RH_ENOMEM");
	assert_string_equal(rh_status_name(RH_EAGAIN), "RH_EAGAIN");
	assert_string_equal(rh_status_name(RH_EPLUGIN), "RH_EPLUGIN");
	assert_string_equal(rh_status_name(RH_EIO), "RH_EIO");
	assert_string_equal(rh_status_name(RH_ENOENT), "RH_ENOENT");
	assert_string_equal(rh_status_name(RH_EEXIST), "RH_EEXIST");
	assert_string_equal(rh_status_name(RH_ECONFLICT), "RH_ECONFLICT");
	assert_string_equal(rh_status_name(-9), "unknown status");
	assert_string_equal(rh_status_name(INT32_MIN), "unknown status");
	assert_string_equal(rh_status_name(1), "positive result");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error__fail_fills_and_returns),
		cmocka_unit_test(test_error__null_is_allowed),
		cmocka_unit_test(test_error__oom_needs_no_memory),
		cmocka_unit_test(test_error__a_later_failure_replaces),
		cmocka_unit_test(test_error__the_earlier_message_may_be_an_argument),
		cmocka_unit_test(test_error__wrap_puts_context_in_front),
		cmocka_unit_test(test_error__the_longest_message_is_whole),
		cmocka_unit_test(test_error__longer_messages_are_cut_with_dots),
		cmocka_unit_test(test_error__a_cut_leaves_characters_whole),
		cmocka_unit_test(test_error__wrap_cuts_too),
		cmocka_unit_test(test_error__the_topic_stays_until_the_next_failure),
		cmocka_unit_test(test_error__the_reason_is_what_was_wrapped_last),
		cmocka_unit_test(test_error__the_reason_of_a_cut_context),
		cmocka_unit_test(test_error__status_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
