/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c: key() and member(). */
#include <string.h>

#include "abi/plugins/both.h"

static const char keys_job[] = "apiVersion: example.org/v1\n"
							   "kind: KeysJob\n"
							   "metadata: {name: k}\n"
							   "spec:\n"
							   "  keysReplicaSpecs:\n"
							   "    Worker:\n"
							   "      template:\n"
							   "        metadata: {labels: {plain: a, a.b/c: b, gone: null, 'it''s \"quoted\"': c}}\n"
							   "        spec: {containers: [{name: main, image: i}]}\n";

static void test_keys__every_label_is_found_by_its_path(void **state)
{
	static const char *const want[][2] = {
		{"spec.keysReplicaSpecs.Worker.template.metadata.labels.plain", "a"},
		{"spec.keysReplicaSpecs.Worker.template.metadata.labels[\"a.b/c\"]", "b"},
		{"spec.keysReplicaSpecs.Worker.template.metadata.labels[\"it's \"quoted\"\"]", "c"},
	};
	rh_auto(json) pod = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, keys_job);
	pod = both_pod(&fixture, "Worker", 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const struct rh_json *env = rh_json_item(rh_json_at(pod, "spec.containers[0].env"), i);

		both_assert_text(env, "name", want[i][0]);
		both_assert_text(env, "value", want[i][1]);
	}
	assert_int_equal(rh_json_size(rh_json_at(pod, "spec.containers[0].env")), 3);
}

static int keys_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_keys__every_label_is_found_by_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(keys_run);
}
