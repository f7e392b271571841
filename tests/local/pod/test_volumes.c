/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes, and those among them that are files. */
#include "local/pod/volumes.h"

#include <string.h>
#include <sys/stat.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "base/os/file.h"
#include "local/pod/input.h"

/* A pod with one volume, which its container mounts. */
static int make(struct test_pod *test, const char *volume, struct rh_volumes *volumes, struct rh_error *err)
{
	rh_auto_free char *spec = rh_asprintf("{containers: [{name: main, volumeMounts: [{name: v, mountPath: /v}]}], "
	                                      "volumes: [{name: v, %s}]}",
	                                      volume);

	test_pod_spec(test, spec);
	return rh_volumes_make(&test->context, volumes, err);
}

static void test_volumes__files(void **state)
{
	static const struct {
		const char *name;
		const char *volume;
		const char *file;
		const char *text; /* NULL: the file must not be there */
		int mode;
	} rows[] = {
		{"a whole ConfigMap", "configMap: {name: files}", "a.txt", "A", 0644},
		{"its other key", "configMap: {name: files}", "b.conf", "B", 0644},
		{"defaultMode", "configMap: {name: files, defaultMode: 256}", "a.txt", "A", 0400},
		{"items", "configMap: {name: files, items: [{key: a.txt, path: deep/er/x}]}", "deep/er/x", "A", 0644},
		{"items leave others out", "configMap: {name: files, items: [{key: a.txt, path: x}]}", "b.conf", NULL, 0},
		{"an item's mode", "configMap: {name: files, items: [{key: a.txt, path: x, mode: 511}]}", "x", "A", 0777},
		{"optional object", "configMap: {name: none, optional: true}", "a.txt", NULL, 0},
		{"optional item", "configMap: {name: files, optional: true, items: [{key: q, path: x}]}", "x", NULL, 0},
		{"a Secret", "secret: {secretName: login}", "password", "newer", 0644},
		{"a Secret's mode", "secret: {secretName: login, defaultMode: 384}", "user", "ada", 0600},
		{"optional Secret", "secret: {secretName: none, optional: true}", "x", NULL, 0},
		{"a field", "downwardAPI: {items: [{path: l/abels, fieldRef: {fieldPath: metadata.name}}]}", "l/abels",
	     "job-worker-1", 0644},
		{"a resource",
	     "downwardAPI: {items: [{path: x, resourceFieldRef: {containerName: main, resource: requests.cpu}}]}", "x", "0",
	     0644},
		{"projected ConfigMap",
	     "projected: {sources: [{configMap: {name: files}}, {secret: {name: login, items: [{key: user, path: u}]}}]}",
	     "a.txt", "A", 0644},
		{"projected Secret",
	     "projected: {sources: [{configMap: {name: files}}, {secret: {name: login, items: [{key: user, path: u}]}}]}",
	     "u", "ada", 0644},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_volumes volumes = {0};
		struct rh_error err = {0};
		rh_auto_free char *text = NULL;
		void *own = NULL;

		(void)test_pod_setup(&own);
		if (make(own, rows[i].volume, &volumes, &err) != 0)
			fail_msg("%s: %s", rows[i].name, err.message);
		text = test_pod_read(volumes.items[0].path, rows[i].file);
		if (!rh_text_equal(text, rows[i].text) || test_pod_mode(volumes.items[0].path, rows[i].file) != rows[i].mode)
			fail_msg("%s: \"%s\"", rows[i].name, text ? text : "(none)");
		assert_true(volumes.items[0].read_only);
		(void)test_pod_teardown(&own);
	}
}

static void test_volumes__refused(void **state)
{
	static const struct {
		const char *volume;
		int r;
		const char *word;
	} rows[] = {
		{"persistentVolumeClaim: {claimName: c}", RH_EINVAL,
	     "volume \"v\": the claim \"c\" has no folder on this machine; name one with --volume 'c=FOLDER'"},
		{"persistentVolumeClaim: {claimName: chosen}", RH_EINVAL, "--volume 'chosen=FOLDER'"},
		{"persistentVolumeClaim: {claimName: copied}", RH_EINVAL, "--volume 'copied=FOLDER'"},
		{"persistentVolumeClaim: {claimName: ../new}", RH_EINVAL, "the claim \"../new\" has no valid name"},
		{"nfs: {server: s, path: /}", RH_EINVAL, "nfs"},
		{"configMap: {name: none}", RH_ENOENT, "volume \"v\": configmap \"none\" not found"},
		{"configMap: {name: files, items: [{key: q, path: x}]}", RH_ENOENT, "references non-existent configMap key: q"},
		{"configMap: {name: files, items: [{key: a.txt, path: ../x}]}", RH_EINVAL, "../x"},
		{"configMap: {name: files, items: [{key: a.txt, path: /x}]}", RH_EINVAL, "/x"},
		{"configMap: {name: files, items: [{key: a.txt}]}", RH_EINVAL, "key and path"},
		{"configMap: {name: escape}", RH_EINVAL, "../../evil"},
		{"secret: {secretName: none}", RH_ENOENT, "secret \"none\" not found"},
		{"projected: {sources: [{serviceAccountToken: {path: t}}]}", RH_EINVAL, "serviceAccountToken"},
		{"downwardAPI: {items: [{path: x, fieldRef: {fieldPath: status.phase}}]}", RH_EINVAL, "status.phase"},
		{"downwardAPI: {items: [{path: x, resourceFieldRef: {resource: limits.cpu}}]}", RH_EINVAL, "container"},
		{"emptyDir: {medium: Memory, sizeLimit: lots}", RH_EINVAL, "sizeLimit"},
		{"hostPath: {path: relative}", RH_EINVAL, "absolute"},
		{"hostPath: {path: /no/such/folder}", RH_EINVAL, "/no/such/folder"},
		{"hostPath: {path: /etc/passwd, type: Directory}", RH_EINVAL, "is not of type Directory"},
		{"hostPath: {path: /etc, type: File}", RH_EINVAL, "is not of type File"},
		{"hostPath: {path: /etc, type: Fil}", RH_EINVAL, "\"Fil\" is not known"},
	};
	struct test_pod *test = *state;

	test->input.machine.can_mount = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_volumes volumes = {0};
		struct rh_error err = {0};
		int r = make(test, rows[i].volume, &volumes, &err);

		if (r != rows[i].r || !strstr(err.message, rows[i].word))
			fail_msg("%s: %d %s", rows[i].volume, r, err.message);
	}
	/* a key like a path has not led out of the volume */
	assert_int_equal(test_pod_mode(test->folder, "evil"), 0);
	assert_int_equal(test_pod_mode(test->pod_dir, "evil"), 0);
}

/* A claim of the files is one folder for all pods, and what a pod left in it stays. */
static void test_volumes__claim_of_the_files(void **state)
{
	struct test_pod *test = *state;
	rh_auto_free char *path = rh_path_join(test->claims_dir, "team.new");
	rh_auto_free char *file = rh_path_join(path, "checkpoint");
	static const char *const volumes_[] = {"persistentVolumeClaim: {claimName: new}",
	                                       "persistentVolumeClaim: {claimName: new, readOnly: true}"};

	for (size_t i = 0; i < 2; i++) {
		rh_auto_volumes volumes = {0};
		rh_auto_free char *text = NULL;

		assert_int_equal(make(test, volumes_[i], &volumes, NULL), 0);
		assert_string_equal(volumes.items[0].path, path);
		assert_int_equal(volumes.items[0].read_only, i == 1);
		assert_int_equal(test_pod_mode(test->folder, "claims"), 0700);
		assert_int_equal(test_pod_mode(test->claims_dir, "team.new"), 0777);
		text = test_pod_read(path, "checkpoint");
		assert_true(i == 0 ? !text : rh_text_equal(text, "3"));
		assert_int_equal(rh_file_write_atomic(file, "3", 1, 0600, NULL), 0);
	}
	assert_non_null(strstr(rh_str_text(&test->notes), "the claim \"new\" is the folder "));
}

/* The folder that the user names comes first. */
static void test_volumes__claim_with_a_folder(void **state)
{
	struct test_pod *test = *state;
	rh_auto_volumes volumes = {0};

	assert_int_equal(rh_config_set(test->config, RH_VOLUMES_SECTION, "new", "/usr", "--volume"), 0);
	assert_int_equal(make(test, "persistentVolumeClaim: {claimName: new}", &volumes, NULL), 0);
	assert_string_equal(volumes.items[0].path, "/usr");
}

static void test_volumes__empty_dir(void **state)
{
	struct test_pod *test = *state;
	static const struct {
		const char *name;
		const char *volume;
		bool can_mount;
		bool memory;
		int64_t size;
	} rows[] = {
		{"plain", "emptyDir: {}", true, false, 0},
		{"no source is an emptyDir", "emptyDir: null", true, false, 0},
		{"in memory", "emptyDir: {medium: Memory}", true, true, 0},
		{"in memory, limited", "emptyDir: {medium: Memory, sizeLimit: 1Gi}", true, true, 1073741824},
		{"in memory, not to be had", "emptyDir: {medium: Memory, sizeLimit: 1Gi}", false, false, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_volumes volumes = {0};
		struct rh_error err = {0};

		test->input.machine.can_mount = rows[i].can_mount;
		assert_int_equal(make(test, rows[i].volume, &volumes, &err), 0);
		if (volumes.items[0].memory != rows[i].memory || volumes.items[0].size != rows[i].size)
			fail_msg("%s", rows[i].name);
		assert_true(volumes.items[0].empty && !volumes.items[0].read_only);
		assert_int_equal(test_pod_mode(test->pod_dir, "volumes/v"), 0777);
		assert_int_equal(test_pod_mode(test->pod_dir, "volumes"), 0700);
	}
}

static void test_volumes__host_path(void **state)
{
	struct test_pod *test = *state;
	rh_auto_free char *folder = rh_asprintf("hostPath: {path: %s/made/here, type: DirectoryOrCreate}", test->folder);
	rh_auto_free char *file = rh_asprintf("hostPath: {path: %s/file, type: FileOrCreate}", test->folder);
	rh_auto_volumes volumes = {0};
	rh_auto_volumes again = {0};
	rh_auto_volumes plain = {0};

	assert_int_equal(make(test, folder, &volumes, NULL), 0);
	assert_true(S_ISDIR(test_pod_mode(test->folder, "made/here") | S_IFDIR));
	assert_int_equal(test_pod_mode(test->folder, "made/here"), 0755);
	assert_int_equal(make(test, file, &again, NULL), 0);
	assert_int_equal(test_pod_mode(test->folder, "file"), 0644);
	assert_int_equal(make(test, "hostPath: {path: /dev/null, type: CharDevice}", &plain, NULL), 0);
	assert_string_equal(plain.items[0].path, "/dev/null");
	assert_false(plain.items[0].read_only);
}

/* What nobody mounts is not made: a volume that is not supported does no harm then. */
static void test_volumes__only_the_used_ones(void **state)
{
	struct test_pod *test = *state;
	rh_auto_volumes volumes = {0};

	test_pod_spec(test,
	              "{containers: [{name: main}], initContainers: [{name: i, volumeMounts: [{name: b, mountPath: /b}]}], "
	              "volumes: [{name: a, nfs: {}}, {name: b, emptyDir: {}}, {name: c, configMap: {name: none}}]}");
	assert_int_equal(rh_volumes_make(&test->context, &volumes, NULL), 0);
	assert_int_equal(volumes.count, 1);
	assert_non_null(rh_volumes_find(&volumes, "b"));
	assert_null(rh_volumes_find(&volumes, "a"));
	assert_int_equal(test_pod_mode(test->pod_dir, "volumes/a"), 0);
}

static void test_volumes__names_cannot_lead_out(void **state)
{
	struct test_pod *test = *state;
	static const char *const names[] = {"../x", ".", "..", "a/b", "''"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		rh_auto_free char *spec = rh_asprintf("{containers: [{name: main, volumeMounts: [{name: %s, mountPath: /v}]}], "
		                                      "volumes: [{name: %s, emptyDir: {}}]}",
		                                      names[i], names[i]);
		rh_auto_volumes volumes = {0};

		test_pod_spec(test, spec);
		assert_int_equal(rh_volumes_make(&test->context, &volumes, NULL), RH_EINVAL);
	}
}

/* A pod's folder may be prepared twice: after a missing ConfigMap has come. */
static void test_volumes__can_be_made_again(void **state)
{
	struct test_pod *test = *state;

	for (int i = 0; i < 2; i++) {
		rh_auto_volumes volumes = {0};

		assert_int_equal(make(test, "configMap: {name: files, defaultMode: 256}", &volumes, NULL), 0);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_pod_setup, test_pod_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_volumes__files),   CASE(test_volumes__refused),
		CASE(test_volumes__empty_dir),           CASE(test_volumes__host_path),
		CASE(test_volumes__only_the_used_ones),  CASE(test_volumes__names_cannot_lead_out),
		CASE(test_volumes__can_be_made_again),   CASE(test_volumes__claim_of_the_files),
		CASE(test_volumes__claim_with_a_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
