/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/progress.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "random.h"

#define BAR "\xe2\x96\x88"
#define LINE "\xe2\x94\x81"

/* Lines as tqdm 4.67, transformers 5 and Keras 3 wrote them into a pipe, and of the examples of PyTorch. */
static const struct {
	const char *text;
	const char *shown;
} rows[] = {
	{"epochs:   0%|          | 0/2 [00:00<?, ?it/s]", "epoch 0/2"},
	{"epochs: 100%|" BAR BAR "| 2/2 [00:04<00:00,  2.25s/it]", "epoch 2/2  0s left"},
	{"train:  40%|" BAR BAR "      | 10/25 [00:00<00:00, 46.20it/s]\033[A", "step 10/25  0s left"},
	{" 50%|" BAR BAR "     | 1.51k/3.00k [00:02<00:01, 1.17kB/s]", "step 1.51k/3.00k  1s left"},
	{"model.safetensors:  30%|" BAR "       | 28.6M/95.4M [00:00<00:01, 39.0MB/s]", "step 28.6M/95.4M  1s left"},
	{" 33%|" BAR "      | 4/12 [00:00<00:00, 32.17it/x/s, loss=0.25]", "step 4/12  0s left"},
	{" 83%|" BAR BAR "\xe2\x96\x8e | 20/24 [00:13<00:02,  1.99it/s]", "step 20/24  2s left"},
	{"  1%|          | 9/900 [01:10<2:05:09,  8.43s/it]", "step 9/900  2:05:09 left"},
	{"  1%|          | 9/900 [00:10<16:40,  1.12s/it]", "step 9/900  16:40 left"},
	{"Epoch 2/3:  37%|###7      | 37/100 [00:10<00:17,  3.65it/s]", "epoch 2/3  step 37/100  17s left"},
	{"stream: 16it [00:00, 16.81it/s]", ""},
	{"Epoch 1/2", "epoch 1/2"},
	{"\033[1m17/40\033[0m \033[32m" LINE LINE "\033[0m\033[37m" LINE
     "\033[0m \033[1m1s\033[0m 3ms/step - loss: 0.1\b\b",
     "step 17/40  1s left"},
	{"\033[1m40/40\033[0m \033[32m" LINE LINE "\033[0m \033[1m3s\033[0m 2ms/step - loss: 0.1", "step 40/40  0s left"},
	{" 12/100 [==>...........................] - ETA: 1:17 - loss: 0.6931", "step 12/100  1:17 left"},
	{"40/40 - 0s - 5ms/step - loss: 0.0000e+00", "step 40/40"},
	{"Epoch [3/10], Step [100/600], Loss: 0.1234", "epoch 3/10  step 100/600"},
	{"Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.29", "step 640/60000"},
	{"Epoch: [1][ 10/391]\tTime  0.1 ( 0.2)", "step 10/391"},
	{"INFO:train:Epoch 3 of 10", "epoch 3/10"},
	{"2026-11-22 10:00:00 step 12/100 loss=0.3", "step 12/100"},
	{"global_step=12/100", "step 12/100"},
	{"[rank0]: iteration 7 / 20", "step 7/20"},
	{"epoch 3 done", ""},
	{"footstep 12/100", ""},
	{"wrote step 12/100/model.bin", ""},
	{"date 11/22/2026", ""},
	{"batch 5/0", ""},
	{"step 12/7", ""},
	{"step 99999999999999999999/100", ""},
	{"17/40", ""},
	{"3%| no bar", ""},
	{"%||/", ""},
	{"", ""},
};

static void test_progress__lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_progress progress = {.step = {.share = 0}};
		rh_auto_str shown = {0};
		bool found = rh_progress_read(&progress, rows[i].text, strlen(rows[i].text));

		rh_progress_append(&progress, &shown);
		assert_string_equal(rh_str_text(&shown), rows[i].shown);
		assert_int_equal(found, rows[i].shown[0] != '\0');
	}
}

static void read_line(struct rh_progress *progress, const char *text)
{
	(void)rh_progress_read(progress, text, strlen(text));
}

/* An epoch goes on over the lines of its steps, and a new one begins without. */
static void test_progress__epochs_have_steps(void **state)
{
	struct rh_progress progress = {.step = {.share = 0}};
	rh_auto_str shown = {0};

	(void)state;
	read_line(&progress, "Epoch 1/3");
	read_line(&progress, "40/40 - 0s - loss: 0.1");
	read_line(&progress, "saved");
	rh_progress_append(&progress, &shown);
	assert_string_equal(rh_str_text(&shown), "epoch 1/3  step 40/40");
	read_line(&progress, "Epoch 2/3");
	rh_str_clear(&shown);
	rh_progress_append(&progress, &shown);
	assert_string_equal(rh_str_text(&shown), "epoch 2/3");
}

static void test_progress__who_is_behind(void **state)
{
	struct rh_progress a = {.step = {.share = 0}};
	struct rh_progress b = {.step = {.share = 0}};

	(void)state;
	assert_false(rh_progress_is_behind(&a, &b));
	read_line(&a, "Epoch [3/10], Step [1/600]");
	read_line(&b, "Epoch [2/10], Step [500/600]");
	assert_true(rh_progress_is_behind(&b, &a));
	assert_false(rh_progress_is_behind(&a, &b));
	read_line(&b, "Epoch [3/10], Step [500/600]");
	assert_true(rh_progress_is_behind(&a, &b));
}

/* Whatever a job writes, a status line gets letters, digits and blanks. */
static void test_progress__any_bytes(void **state)
{
	static const char pieces[][12] = {"step ", "12/100", "\033[2J", "%|", "| ", "\xff", "<", "Epoch ", "[", "1:", "\n"};
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct rh_progress progress = {.step = {.share = 0}};
		rh_auto_str text = {0};
		rh_auto_str shown = {0};

		for (int k = 0; k < 8; k++)
			rh_str_append(&text, pieces[test_random_below(&seed, sizeof(pieces) / sizeof(pieces[0]))]);
		(void)rh_progress_read(&progress, rh_str_text(&text), text.length);
		rh_progress_append(&progress, &shown);
		assert_int_equal(strspn(rh_str_text(&shown), "abcdefghijklmnopqrstuvwxyz0123456789/.: kMGTP"), shown.length);
	}
}

/* What a replica reports: as much as there is, and no loss that is not a short number. */
static void test_progress__reports(void **state)
{
	static const char *const reports[][2] = {
		{"{}", ""},
		{"{\"progressPercentage\": 0}", "0%"},
		{"{\"estimatedRemainingSeconds\": 7325}", "2:02:05 left"},
		{"{\"progressPercentage\": 45, \"estimatedRemainingSeconds\": 80, \"metrics\": [{\"name\": \"epoch\", "
	     "\"value\": \"1\"}, {\"name\": \"loss\", \"value\": \"2.5e-05\"}]}",
	     "45%  1:20 left  loss 2.5e-05"},
		{"{\"metrics\": [{\"name\": \"loss\", \"value\": \"\\u001b[2J\"}]}", ""},
		{"{\"metrics\": [{\"name\": \"loss\", \"value\": \"0.000000000000000000001\"}]}", ""},
	};
	rh_auto_str none = {0};

	(void)state;
	rh_progress_append_report(NULL, &none);
	assert_int_equal(none.length, 0);
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		rh_auto(json) status = NULL;
		rh_auto_str shown = {0};

		assert_int_equal(rh_json_parse(reports[i][0], strlen(reports[i][0]), &status, NULL), 0);
		rh_progress_append_report(status, &shown);
		assert_string_equal(rh_str_text(&shown), reports[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress__lines),         cmocka_unit_test(test_progress__epochs_have_steps),
		cmocka_unit_test(test_progress__who_is_behind), cmocka_unit_test(test_progress__any_bytes),
		cmocka_unit_test(test_progress__reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
