/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/page/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/str.h"

/* A line and its series as "NAME=VALUE@STEP", ended by spaces; a step that is unknown is left out. */
struct row {
	const char *line;
	const char *series;
};

static void take(struct rh_page_metrics *metrics, const char *line, int64_t at)
{
	rh_page_metrics_line(metrics, line, strlen(line), at);
}

static void print_series(const struct rh_page_metrics *metrics, struct rh_str *out)
{
	const struct rh_page_metric *series;

	for (size_t i = 0; (series = rh_page_metrics_item(metrics, i)); i++) {
		rh_str_appendf(out, "%s=%g", series->name, series->last.value);
		if (!isnan(series->last.step))
			rh_str_appendf(out, "@%g", series->last.step);
		rh_str_append(out, " ");
	}
}

static void expect_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		rh_auto(page_metrics) metrics = rh_page_metrics_new(10);
		rh_auto_str text = {0};

		assert_non_null(metrics);
		take(metrics, rows[i].line, 0);
		print_series(metrics, &text);
		if (strcmp(rh_str_text(&text), rows[i].series) != 0)
			fail_msg("%s: \"%s\", not \"%s\"", rows[i].line, rh_str_text(&text), rows[i].series);
	}
}

/* As the frameworks' own examples, callbacks and progress bars write them. */
static void test_metrics__lines_of_frameworks(void **state)
{
	static const struct row rows[] = {
		{"epoch=3 step=120 loss=0.31", "loss=0.31@120 "},
		{"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.309", "loss=2.309@1 "},
		{"Train Epoch: 1 [640/60000 (1%)]\tloss=2.309", "loss=2.309@1 "},
		{"Test set: Average loss: 0.0273, Accuracy: 9911/10000 (99%)", "average loss=0.0273 accuracy=0.9911 "},
		{"{'loss': 0.4321, 'learning_rate': 1e-05, 'epoch': 1.5}", "loss=0.4321@1.5 learning_rate=1e-05@1.5 "},
		{"{\"eval_loss\": -1.25, \"step\": 7}", "eval_loss=-1.25@7 "},
		{"100/100 - 1s - loss: 0.3 - accuracy: 0.97", "loss=0.3 accuracy=0.97 "},
		{"[12]\ttrain-logloss:0.34\teval-logloss:0.36", "train-logloss=0.34@12 eval-logloss=0.36@12 "},
		{"Epoch: [3][ 10/500]\tLoss 6.9 (7.0)", "loss=6.9@3 "},
		{"Epoch [3/10], Step [100/600], Loss: 0.21", "loss=0.21@100 "},
		{"epoch 2: train loss 0.5, val loss 0.7", "train loss=0.5@2 val loss=0.7@2 "},
		{" 12%|#   | 3/25 [00:01<00:08,  2.6it/s, loss=0.44, acc=91.2%]", "loss=0.44 acc=91.2 "},
		{"accuracy 0.93", "accuracy=0.93 "},
		{"[rank1]: step 5 loss .5", "loss=0.5@5 "},
		{"grad_norm=inf", "grad_norm=inf "},
	};

	(void)state;
	expect_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Numbers that are parts of something else, or that nobody names. */
static void test_metrics__lines_without(void **state)
{
	static const struct row rows[] = {
		{"", ""},
		{"listening on port: 29500", ""},
		{"version=1.2.3", ""},
		{"2026-11-23T05:38:22Z started", ""},
		{"10.0.0.1:29500 is the address", ""},
		{"id=0x1f hash=3fa8b2", ""},
		{"12 apples, 7", ""},
		{"loss=", ""},
		{"loss is lower", ""},
		{"=0.5 : 3 '4'", ""},
		{"information: none", ""},
	};

	(void)state;
	expect_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static void test_metrics__a_loss_that_is_not_a_number(void **state)
{
	rh_auto(page_metrics) metrics = rh_page_metrics_new(10);

	(void)state;
	take(metrics, "step=1 loss=nan", RH_PAGE_METRIC_NO_TIME);
	assert_true(isnan(rh_page_metrics_item(metrics, 0)->points[0].value));
	assert_true(rh_page_metrics_item(metrics, 0)->points[0].at == RH_PAGE_METRIC_NO_TIME);
}

/* A step of an earlier line holds until the next one. */
static void test_metrics__a_step_is_carried(void **state)
{
	rh_auto(page_metrics) metrics = rh_page_metrics_new(10);

	(void)state;
	take(metrics, "Epoch 3", 0);
	take(metrics, "loss: 0.5", 0);
	assert_true(rh_page_metrics_item(metrics, 0)->points[0].step > 2.5);
	assert_null(rh_page_metrics_item(metrics, 1));
}

/* A name that nobody knows counts when it says something. */
static void test_metrics__unknown_names(void **state)
{
	rh_auto(page_metrics) metrics = rh_page_metrics_new(10);

	(void)state;
	for (int i = 0; i < 3; i++) {
		char line[64];

		assert_null(rh_page_metrics_item(metrics, 0));
		(void)snprintf(line, sizeof(line), "temperature=%d world_size=4", i);
		take(metrics, line, i);
	}
	assert_string_equal(rh_page_metrics_item(metrics, 0)->name, "temperature");
	assert_null(rh_page_metrics_item(metrics, 1));
}

/* However long a series is, its points are few, evenly taken, and the first and the last are known. */
static void test_metrics__a_series_is_bounded(void **state)
{
	rh_auto(page_metrics) metrics = rh_page_metrics_new(16);
	const struct rh_page_metric *series;

	(void)state;
	for (int i = 0; i < 100003; i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "step=%d loss=%d", i, i);
		take(metrics, line, i);
	}
	series = rh_page_metrics_item(metrics, 0);
	assert_int_equal(series->seen, 100003);
	assert_in_range(series->count, 8, 16);
	for (size_t i = 0; i < series->count; i++)
		assert_int_equal((int64_t)series->points[i].value, (int64_t)i * series->every);
	assert_int_equal((int64_t)series->last.value, 100002);
}

/* Neither many names nor any bytes do harm. */
static void test_metrics__hostile_lines(void **state)
{
	static const char bytes[] = {'l', 'o', 's', 's', '=', '\0', '1', (char)0xff, '=', '=', '-', '.', 'n', 'a', 'n'};
	rh_auto(page_metrics) metrics = rh_page_metrics_new(4);
	char line[9000];

	(void)state;
	rh_page_metrics_line(metrics, bytes, sizeof(bytes), 0);
	memset(line, '=', sizeof(line));
	rh_page_metrics_line(metrics, line, sizeof(line), 0);
	memset(line, '9', sizeof(line));
	memcpy(line, "loss=", 5);
	rh_page_metrics_line(metrics, line, sizeof(line), 0);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(line, sizeof(line), "loss_%d=1", i);
		take(metrics, line, i);
	}
	for (size_t i = 0; i < 32; i++)
		assert_non_null(rh_page_metrics_item(metrics, i));
	assert_null(rh_page_metrics_item(metrics, 32));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metrics__lines_of_frameworks),
		cmocka_unit_test(test_metrics__lines_without),
		cmocka_unit_test(test_metrics__a_loss_that_is_not_a_number),
		cmocka_unit_test(test_metrics__a_step_is_carried),
		cmocka_unit_test(test_metrics__unknown_names),
		cmocka_unit_test(test_metrics__a_series_is_bounded),
		cmocka_unit_test(test_metrics__hostile_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
