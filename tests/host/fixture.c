/* SPDX-License-Identifier: Apache-2.0 */
#include "host/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/os/clock.h"
#include "base/yaml.h"
#include "job/kinds.h"

const char fixture_job[] = "apiVersion: kubeflow.org/v1\n"
						   "kind: PyTorchJob\n"
						   "metadata: {name: mnist, namespace: team, uid: u-1}\n"
						   "spec:\n"
						   "  pytorchReplicaSpecs:\n"
						   "    Master:\n"
						   "      replicas: 1\n"
						   "      template: {spec: {containers: [{name: pytorch, image: i}]}}\n"
						   "    Worker:\n"
						   "      replicas: 2\n"
						   "      restartPolicy: ExitCode\n"
						   "      template: {spec: {containers: [{name: pytorch, image: i}]}}\n";

static const struct rh_kind *fixture_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &test_pytorch : NULL;
}

static const struct rh_plugin fixture_fake = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "fake",
	.release = "1.2.3",
	.describe = fixture_describe,
};

const struct rh_plugin *fixture_plugin(void)
{
	return &fixture_fake;
}

struct rh_json *fixture_yaml(const char *text)
{
	rh_auto(json) documents = NULL;
	struct rh_error err = {0};

	if (rh_yaml_parse(text, strlen(text), &documents, &err) < 0)
		fail_msg("%s", err.message);
	return rh_json_detach_item(documents, 0);
}

static void fixture_start(struct fixture *fixture, const char *ini)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture->config = rh_config_new();
	assert_non_null(fixture->config);
	if (ini && rh_config_parse(fixture->config, "test.ini", ini, strlen(ini), &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	assert_int_equal(rh_host_new(fixture->config, &fixture->host, &fixture->err), 0);
}

static void fixture_take_job(struct fixture *fixture, const char *yaml)
{
	if (rh_host_parse(fixture->host, fixture_yaml(yaml), &fixture->job, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	fixture->snapshot = (struct rh_snapshot){
		.host = fixture->host,
		.job = fixture->job,
		.counts = fixture->counts,
	};
	for (size_t i = 0; i < fixture->job->spec_count; i++)
		fixture->counts[i].desired = fixture->job->specs[i].replicas;
}

void fixture_open(struct fixture *fixture, const struct rh_plugin *plugin, const char *yaml)
{
	fixture_start(fixture, NULL);
	if (rh_host_add(fixture->host, "fake.so", plugin, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	fixture_take_job(fixture, yaml);
}

void fixture_open_file(struct fixture *fixture, const char *path, const char *ini, const char *yaml)
{
	fixture_start(fixture, ini);
	if (rh_host_load_file(fixture->host, path, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	fixture_take_job(fixture, yaml);
}

void fixture_open_where(struct fixture *fixture, const char *path, bool remote, const char *yaml)
{
	fixture_start(fixture, NULL);
	fixture->config->plugin_isolation = remote ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	/* A worker may have to wait for a processor: it shall not be blamed for that instead of for its answer. */
	fixture->config->plugin_time_limit = 300 * RH_SECOND;
	if ((remote ? rh_host_try_file : rh_host_load_file)(fixture->host, path, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	fixture_take_job(fixture, yaml);
}

void fixture_close(struct fixture *fixture)
{
	rh_job_free(fixture->job);
	rh_host_free(fixture->host);
	rh_config_free(fixture->config);
	memset(fixture, 0, sizeof(*fixture));
}

void fixture_assert_json(const struct rh_json *json, const char *text)
{
	rh_auto_free char *printed = rh_json_text(json);

	assert_non_null(printed);
	assert_string_equal(printed, text);
}
