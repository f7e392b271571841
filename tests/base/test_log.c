/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/support.h"

/* What was written to standard error between two calls. */
struct capture {
	int saved;
	int read_end;
	char text[16384];
};

static void capture_start(struct capture *capture)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	capture->saved = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	capture->read_end = ends[0];
}

static const char *capture_stop(struct capture *capture)
{
	ssize_t n;

	dup2(capture->saved, STDERR_FILENO);
	close(capture->saved);
	n = read(capture->read_end, capture->text, sizeof(capture->text) - 1);
	close(capture->read_end);
	capture->text[n > 0 ? n : 0] = '\0';
	return capture->text;
}

static void test_log__level_parse(void **state)
{
	static const struct {
		const char *text;
		enum rh_log_level level;
	} rows[] = {{"debug", RH_LOG_DEBUG}, {"info", RH_LOG_INFO}, {"warn", RH_LOG_WARN}, {"error", RH_LOG_ERROR}};
	enum rh_log_level level = RH_LOG_WARN;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(rh_log_level_parse(rows[i].text, &level), 0);
		assert_int_equal(level, rows[i].level);
	}
	level = RH_LOG_WARN;
	assert_int_equal(rh_log_level_parse("loud", &level), RH_EINVAL);
	assert_int_equal(rh_log_level_parse("", &level), RH_EINVAL);
	assert_int_equal(rh_log_level_parse("INFO", &level), RH_EINVAL);
	assert_int_equal(level, RH_LOG_WARN);
}

static void test_log__levels_below_are_dropped(void **state)
{
	struct capture capture;

	(void)state;
	rh_log_setup(RH_LOG_WARN, false);
	assert_false(rh_log_enabled(RH_LOG_INFO));
	assert_true(rh_log_enabled(RH_LOG_WARN));
	assert_true(rh_log_enabled(RH_LOG_ERROR));
	capture_start(&capture);
	rh_log(RH_LOG_INFO, NULL, "not this");
	rh_log(RH_LOG_ERROR, NULL, "but this");
	assert_null(strstr(capture_stop(&capture), "not this"));
	assert_non_null(strstr(capture.text, "error but this\n"));
}

static void test_log__text_line(void **state)
{
	struct capture capture;

	(void)state;
	rh_log_setup(RH_LOG_DEBUG, false);
	capture_start(&capture);
	rh_log(RH_LOG_INFO, "PyTorchJob default/mnist", "created %d pods", 3);
	capture_stop(&capture);
	assert_int_equal(capture.text[10], 'T');
	assert_string_equal(strchr(capture.text, 'Z'), "Z info  PyTorchJob default/mnist: created 3 pods\n");
}

static void test_log__text_cannot_be_forged(void **state)
{
	struct capture capture;

	(void)state;
	rh_log_setup(RH_LOG_DEBUG, false);
	capture_start(&capture);
	rh_log(RH_LOG_INFO, "a\nb", "%s", "c\x1B[31m\r\x7F\td");
	capture_stop(&capture);
	assert_string_equal(strchr(capture.text, 'Z'), "Z info  a\\nb: c\\x1b[31m\\x0d\\x7f\td\n");
}

static void test_log__json_line(void **state)
{
	struct capture capture;
	rh_auto(json) line = NULL;

	(void)state;
	rh_log_setup(RH_LOG_DEBUG, true);
	capture_start(&capture);
	rh_log(RH_LOG_WARN, "job \"x\"", "a\nb \xFF");
	capture_stop(&capture);
	assert_ptr_equal(strchr(capture.text, '\n'), capture.text + strlen(capture.text) - 1);
	line = support_json(capture.text);
	assert_string_equal(rh_json_string_at(line, "level"), "warn");
	assert_string_equal(rh_json_string_at(line, "object"), "job \"x\"");
	assert_string_equal(rh_json_string_at(line, "message"), "a\nb \xEF\xBF\xBD");
	assert_int_equal(strlen(rh_json_string_at(line, "time")), 27);
}

static void test_log__json_without_object(void **state)
{
	struct capture capture;
	rh_auto(json) line = NULL;

	(void)state;
	rh_log_setup(RH_LOG_DEBUG, true);
	capture_start(&capture);
	rh_log(RH_LOG_DEBUG, NULL, "m");
	line = support_json(capture_stop(&capture));
	assert_null(rh_json_get(line, "object"));
	assert_int_equal(rh_json_size(line), 3);
}

static void test_log__about_an_object(void **state)
{
	const struct rh_log_object whole = {"PyTorchJob", "default", "mnist", "u-1"};
	const struct rh_log_object part = {"PyTorchJob", "default", "a\nb", ""};
	struct capture capture;
	rh_auto(json) line = NULL;

	(void)state;
	rh_log_setup(RH_LOG_INFO, false);
	capture_start(&capture);
	rh_log_about(RH_LOG_DEBUG, &whole, "not this");
	rh_log_about(RH_LOG_INFO, &whole, "%d pods", 3);
	assert_string_equal(strchr(capture_stop(&capture), 'Z'), "Z info  PyTorchJob default/mnist (u-1): 3 pods\n");
	capture_start(&capture);
	rh_log_about(RH_LOG_INFO, &part, "m");
	assert_string_equal(strchr(capture_stop(&capture), 'Z'), "Z info  PyTorchJob default/a\\nb: m\n");
	rh_log_setup(RH_LOG_INFO, true);
	capture_start(&capture);
	rh_log_about(RH_LOG_INFO, &whole, "m");
	line = support_json(capture_stop(&capture));
	assert_string_equal(rh_json_string_at(line, "kind"), "PyTorchJob");
	assert_string_equal(rh_json_string_at(line, "namespace"), "default");
	assert_string_equal(rh_json_string_at(line, "name"), "mnist");
	assert_string_equal(rh_json_string_at(line, "uid"), "u-1");
	assert_int_equal(rh_json_size(line), 7);
}

static void test_log__long_messages_are_cut(void **state)
{
	struct capture capture;

	(void)state;
	rh_log_setup(RH_LOG_DEBUG, false);
	capture_start(&capture);
	rh_log(RH_LOG_INFO, NULL, "%09999d", 1);
	capture_stop(&capture);
	assert_true(strlen(capture.text) < 5000);
	assert_string_equal(capture.text + strlen(capture.text) - 5, "0...\n");
}

static void test_log__a_cut_leaves_characters_whole(void **state)
{
	(void)state;
	for (int shift = 0; shift < 3; shift++) {
		struct capture capture;
		rh_auto_str text = {0};

		rh_str_append(&text, &"xxx"[shift]);
		for (int i = 0; i < 5000; i++)
			rh_str_append(&text, "\xE2\x82\xAC");
		rh_log_setup(RH_LOG_DEBUG, false);
		capture_start(&capture);
		rh_log(RH_LOG_INFO, NULL, "%s", rh_str_text(&text));
		capture_stop(&capture);
		assert_string_equal(capture.text + strlen(capture.text) - 7, "\xE2\x82\xAC...\n");
	}
}

static void test_log__says_so_without_memory(void **state)
{
	struct capture capture;

	(void)state;
	rh_log_setup(RH_LOG_DEBUG, true);
	capture_start(&capture);
	rh_mem_fail_after(0);
	rh_log(RH_LOG_INFO, NULL, "m");
	rh_mem_fail_after(-1);
	assert_string_equal(capture_stop(&capture), "out of memory for a log line\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log__level_parse),
		cmocka_unit_test(test_log__levels_below_are_dropped),
		cmocka_unit_test(test_log__text_line),
		cmocka_unit_test(test_log__text_cannot_be_forged),
		cmocka_unit_test(test_log__json_line),
		cmocka_unit_test(test_log__json_without_object),
		cmocka_unit_test(test_log__about_an_object),
		cmocka_unit_test(test_log__long_messages_are_cut),
		cmocka_unit_test(test_log__a_cut_leaves_characters_whole),
		cmocka_unit_test(test_log__says_so_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
