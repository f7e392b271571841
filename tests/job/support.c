/* SPDX-License-Identifier: Apache-2.0 */
#include "job/support.h"

#include <string.h>

#include "base/os/file.h"
#include "base/yaml.h"
#include "job/kinds.h"
#include "job/rules/validate.h"

struct rh_json *test_json(const char *text)
{
	rh_auto_free char *quoted = rh_strdup(text);
	struct rh_json *json = NULL;
	struct rh_error err = {0};

	assert_non_null(quoted);
	for (char *c = quoted; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	if (rh_json_parse(quoted, strlen(quoted), &json, &err) != 0)
		fail_msg("%s: %s", quoted, err.message);
	return json;
}

struct rh_json *test_golden(const char *path)
{
	rh_auto_free char *full = rh_path_join(RH_GOLDENS, path);
	rh_auto_free char *text = NULL;
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};
	size_t length;

	if (rh_file_read(full, 1u << 24, &text, &length, &err) != 0 || rh_yaml_parse(text, length, &documents, &err) != 0)
		fail_msg("%s: %s", path, err.message);
	assert_int_equal(rh_json_size(documents), 1);
	return rh_json_detach_item(documents, 0);
}

struct rh_job *test_job(const struct rh_kind *kind, const char *text)
{
	struct rh_job *job = NULL;
	struct rh_error err = {0};

	if (rh_job_parse(kind, test_json(text), &job, &err) != 0)
		fail_msg("%s: %s", text, err.message);
	return job;
}

struct rh_job *test_pytorch_job(const char *metadata, const char *spec)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'j'%s%s},'spec':{%s%s'pytorchReplicaSpecs':{" TEST_MASTER "}}}",
	                *metadata ? "," : "", metadata, spec, *spec ? "," : "");

	assert_non_null(text);
	return test_job(&test_pytorch, text);
}

char *test_validate(const struct rh_job *job)
{
	rh_auto_findings findings = {0};
	rh_auto_str text = {0};

	assert_int_equal(rh_job_validate(job, &findings), 0);
	for (size_t i = 0; i < findings.count; i++)
		rh_str_appendf(&text, "%s%s: %s\n", findings.items[i].severity == RH_FINDING_WARNING ? "warning: " : "",
		               findings.items[i].path, findings.items[i].detail);
	return rh_str_take(&text);
}
