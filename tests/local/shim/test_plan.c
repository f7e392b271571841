/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/plan.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"

#define CONTAINER(more)                                                                                    \
	"{\"name\":\"main\",\"argv\":[\"sh\",\"-c\",\"x\"],\"env\":[\"A=b\",\"ROUNDHOUSE_CONTAINER=u/main\"]," \
	"\"cwd\":\"/\",\"log\":\"/l\"" more "}"
#define PLAN(more, containers)                                                                                      \
	"{\"pod\":\"p\",\"dir\":\"/d\",\"restartPolicy\":\"OnFailure\",\"backoff\":1,\"backoffMax\":2,\"grace\":3" more \
	",\"containers\":[" containers "]}"

static const char whole[] =
	PLAN(",\"detached\":true,\"tmpfs\":[{\"path\":\"/t\",\"size\":5},{\"path\":\"/u\"}],\"init\":["
         "{\"name\":\"first\",\"argv\":[\"i\"],\"env\":[],\"cwd\":\"/\",\"log\":\"/i\"}]",
         CONTAINER(",\"mounts\":[{\"from\":\"/a\",\"to\":\"/b\",\"readOnly\":true},{\"from\":\"/c\",\"to\":\"/e\"}],"
                   "\"memory\":7,\"cpu\":8,\"uid\":9,\"gid\":10"));

static int parse(const char *text, struct rh_shim_plan *plan, struct rh_error *err)
{
	struct rh_json *json = NULL;

	assert_int_equal(rh_json_parse(text, strlen(text), &json, NULL), 0);
	return rh_shim_plan_parse(json, plan, err);
}

static void check_main(const struct rh_shim_spec *spec)
{
	assert_string_equal(spec->name, "main");
	assert_string_equal(spec->argv[2], "x");
	assert_null(spec->argv[3]);
	assert_string_equal(spec->env[0], "A=b");
	assert_null(spec->env[2]);
	assert_string_equal(rh_shim_spec_mark(spec), "ROUNDHOUSE_CONTAINER=u/main");
	assert_int_equal(spec->mount_count, 2);
	assert_string_equal(spec->mounts[0].to, "/b");
	assert_true(spec->mounts[0].read_only && !spec->mounts[1].read_only);
	assert_int_equal(spec->memory, 7);
	assert_int_equal(spec->cpu, 8);
	assert_int_equal(spec->uid, 9);
	assert_int_equal(spec->gid, 10);
	assert_false(spec->init);
}

static void test_plan__reads_everything(void **state)
{
	struct rh_shim_plan plan = {0};

	(void)state;
	assert_int_equal(parse(whole, &plan, NULL), 0);
	assert_true(plan.detached && plan.policy == RH_SHIM_ON_FAILURE);
	assert_int_equal(plan.backoff, 1);
	assert_int_equal(plan.backoff_max, 2);
	assert_int_equal(plan.grace, 3);
	assert_int_equal(plan.tmpfs_count, 2);
	assert_int_equal(plan.tmpfs[0].size, 5);
	assert_string_equal(plan.tmpfs[1].path, "/u");
	assert_int_equal(plan.spec_count, 2);
	assert_true(plan.specs[0].init);
	assert_null(rh_shim_spec_mark(&plan.specs[0]));
	assert_int_equal(plan.specs[0].uid, -1);
	check_main(&plan.specs[1]);
	assert_true(rh_shim_plan_mounts(&plan));
	rh_shim_plan_deinit(&plan);
	rh_shim_plan_deinit(&plan);
}

static void test_plan__knows_when_nothing_is_mounted(void **state)
{
	struct rh_shim_plan plan = {0};

	(void)state;
	assert_int_equal(parse(PLAN("", CONTAINER("")), &plan, NULL), 0);
	assert_false(rh_shim_plan_mounts(&plan));
	assert_false(plan.detached);
	rh_shim_plan_deinit(&plan);
}

static void test_plan__refuses(void **state)
{
	static const struct {
		const char *text;
		const char *word;
	} rows[] = {
		{"{}", "\"pod\""},
		{"{\"pod\":\"p\"}", "\"dir\""},
		{"{\"pod\":\"p\",\"dir\":\"/\",\"restartPolicy\":\"Sometimes\"}", "Sometimes"},
		{PLAN("", ""), "containers"},
		{"{\"pod\":\"p\",\"dir\":\"/\",\"restartPolicy\":\"Never\",\"backoff\":-1}", "backoff"},
		{PLAN(",\"tmpfs\":[{}]", CONTAINER("")), "path"},
		{PLAN("", "{}"), "name"},
		{PLAN("", "{\"name\":\"m\",\"cwd\":\"/\",\"log\":\"l\",\"argv\":[],\"env\":[]}"), "no argv"},
		{PLAN("", "{\"name\":\"m\",\"cwd\":\"/\",\"log\":\"l\",\"argv\":[1],\"env\":[]}"), "argv"},
		{PLAN("", "{\"name\":\"m\",\"cwd\":\"/\",\"log\":\"l\",\"argv\":[\"x\"]}"), "env"},
		{PLAN("", CONTAINER(",\"mounts\":[{\"from\":\"/a\"}]")), "\"to\""},
		{PLAN("", CONTAINER(",\"memory\":\"1Gi\"")), "memory"},
		{PLAN("", CONTAINER(",\"uid\":-5")), "uid"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_plan plan = {0};
		struct rh_error err = {0};
		int r = parse(rows[i].text, &plan, &err);

		if (r != RH_EINVAL || !strstr(err.message, rows[i].word))
			fail_msg("%s: %d %s", rows[i].text, r, err.message);
		rh_shim_plan_deinit(&plan);
	}
}

static void test_plan__is_read_to_its_end(void **state)
{
	struct rh_shim_plan plan = {0};
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], whole, 20), 20);
	assert_int_equal(write(ends[1], whole + 20, strlen(whole) - 20), strlen(whole) - 20);
	(void)close(ends[1]);
	assert_int_equal(rh_shim_plan_read(ends[0], &plan, NULL), 0);
	(void)close(ends[0]);
	assert_int_equal(plan.spec_count, 2);
	rh_shim_plan_deinit(&plan);
}

static void test_plan__says_what_cannot_be_read(void **state)
{
	struct rh_shim_plan plan = {0};
	struct rh_error err = {0};
	int ends[2];

	(void)state;
	assert_int_equal(rh_shim_plan_read(-1, &plan, &err), RH_EIO);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void)close(ends[1]);
	assert_int_equal(rh_shim_plan_read(ends[0], &plan, &err), RH_EINVAL);
	(void)close(ends[0]);
	rh_shim_plan_deinit(&plan);
}

static void test_plan__survives_a_lack_of_memory(void **state)
{
	int r = RH_ENOMEM;

	(void)state;
	for (long i = 0; r != 0; i++) {
		struct rh_shim_plan plan = {0};
		struct rh_json *json = NULL;

		assert_int_equal(rh_json_parse(whole, strlen(whole), &json, NULL), 0);
		(void)rh_mem_fail_after(i);
		r = rh_shim_plan_parse(json, &plan, NULL);
		(void)rh_mem_fail_after(-1);
		assert_true(r == 0 || r == RH_ENOMEM);
		rh_shim_plan_deinit(&plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan__reads_everything),
		cmocka_unit_test(test_plan__knows_when_nothing_is_mounted),
		cmocka_unit_test(test_plan__refuses),
		cmocka_unit_test(test_plan__is_read_to_its_end),
		cmocka_unit_test(test_plan__says_what_cannot_be_read),
		cmocka_unit_test(test_plan__survives_a_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
