/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/input.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/os/file.h"
#include "base/yaml.h"
#include "local/scratch.h"

static const char pod_text[] = "metadata:\n"
							   "  name: job-worker-1\n"
							   "  namespace: team\n"
							   "  uid: u-1\n"
							   "  labels: {app: train, b.example/x-y: 'quoted \"z\"'}\n"
							   "  annotations: {note: hello}\n"
							   "spec:\n"
							   "  restartPolicy: Never\n"
							   "  nodeName: laptop\n"
							   "  containers:\n"
							   "  - {name: main, image: 'example/train:1', command: [python3, train.py]}\n";

static const char objects_text[] =
	"- {kind: ConfigMap, metadata: {name: settings}, data: {rate: '0.1', epochs: '3', bad name: x, 1st: z},\n"
	"   binaryData: {bin: AAEC}}\n"
	"- {kind: ConfigMap, metadata: {name: files}, data: {a.txt: 'A', b.conf: 'B', zero.bin: z}}\n"
	"- {kind: ConfigMap, metadata: {name: escape}, data: {../../evil: x}}\n"
	"- {kind: ConfigMap, metadata: {name: broken}, data: {number: 5}}\n"
	"- {kind: Secret, metadata: {name: login}, data: {user: YWRh, zero: AGEA, password: c2VjcmV0},\n"
	"   stringData: {password: newer, plain: text}}\n"
	"- {kind: Secret, metadata: {name: garbled}, data: {x: '!!!'}}\n"
	"- {kind: PersistentVolumeClaim, metadata: {name: new}, spec: {volumeName: ''}}\n"
	"- {kind: PersistentVolumeClaim, metadata: {name: ../new}}\n"
	"- {kind: PersistentVolumeClaim, metadata: {name: chosen}, spec: {selector: {matchLabels: {a: b}}}}\n"
	"- {kind: PersistentVolumeClaim, metadata: {name: copied}, spec: {dataSource: {kind: VolumeSnapshot, name: s}}}\n";

static const char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/home/ada", "HOSTNAME=machine", "PWD=/old", NULL};

static const struct rh_json *input_find(void *arg, const char *kind, const char *namespace_, const char *name)
{
	const struct rh_json *object = rh_json_first(arg);

	assert_string_equal(namespace_, "team");
	for (; object; object = rh_json_next(object)) {
		if (strcmp(rh_json_string_at(object, "kind"), kind) == 0 &&
		    strcmp(rh_json_string_at(object, "metadata.name"), name) == 0)
			return object;
	}
	return NULL;
}

struct rh_json *test_pod_yaml(const char *text)
{
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};

	if (rh_yaml_parse(text, strlen(text), &documents, &err) < 0)
		fail_msg("%s: %s", err.message, text);
	return rh_json_detach_item(documents, 0);
}

int test_pod_setup(void **state)
{
	struct test_pod *test = rh_alloc(sizeof(*test));

	assert_non_null(test);
	/* what pods get does not depend on the caller's */
	(void)umask(077);
	test->folder = test_scratch();
	test->pod_dir = rh_path_join(test->folder, "pod");
	test->claims_dir = rh_path_join(test->folder, "claims");
	test->config = rh_config_new();
	test->pod = test_pod_yaml(pod_text);
	test->objects = test_pod_yaml(objects_text);
	assert_non_null(test->config);
	test->input = (struct rh_runtime_spec_input){.pod = test->pod,
	                                             .config = test->config,
	                                             .lookup = input_find,
	                                             .lookup_arg = test->objects,
	                                             .environment = environment,
	                                             .pod_dir = test->pod_dir,
	                                             .log_dir = "/logs",
	                                             .claims_dir = test->claims_dir,
	                                             .work_dir = "/jobs",
	                                             .pod_ip = "127.1.0.3"};
	test->context = (struct rh_pod_context){.input = &test->input,
	                                        .namespace_ = "team",
	                                        .name = "job-worker-1",
	                                        .uid = "u-1",
	                                        .spec = rh_json_get(test->pod, "spec"),
	                                        .notes = &test->notes};
	*state = test;
	return 0;
}

int test_pod_teardown(void **state)
{
	struct test_pod *test = *state;

	rh_json_free(test->pod);
	rh_json_free(test->objects);
	rh_config_free(test->config);
	rh_str_deinit(&test->notes);
	rh_free(test->pod_dir);
	rh_free(test->claims_dir);
	test_scratch_remove(test->folder);
	rh_free(test);
	return 0;
}

void test_pod_spec(struct test_pod *test, const char *spec)
{
	assert_int_equal(rh_json_set(test->pod, "spec", test_pod_yaml(spec)), 0);
	test->context.spec = rh_json_get(test->pod, "spec");
}

char *test_pod_read(const char *folder, const char *path)
{
	rh_auto_free char *whole = rh_path_join(folder, path);
	char *text = NULL;

	return rh_file_read(whole, 100000, &text, NULL, NULL) < 0 ? NULL : text;
}

int test_pod_mode(const char *folder, const char *path)
{
	rh_auto_free char *whole = rh_path_join(folder, path);
	struct stat st;

	return stat(whole, &st) < 0 ? 0 : (int)(st.st_mode & 07777);
}
