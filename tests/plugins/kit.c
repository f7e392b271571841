/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/os/file.h"

/** Allocations that are made to fail in turn: far more than one question takes. */
#define KIT_FAILURES_MAX 5000

void kit_open(struct kit *kit, const char *plugin, const char *ini, const char *yaml)
{
	rh_auto_free char *path = strchr(plugin, '/') ? rh_strdup(plugin) : rh_asprintf("%s/%s.so", RH_PLUGIN_DIR, plugin);
	const struct rh_job *job;

	memset(kit, 0, sizeof(*kit));
	fixture_open_file(&kit->fixture, path, ini, yaml);
	job = kit->fixture.job;
	for (size_t i = 0; i < job->spec_count; i++)
		kit->offsets[i + 1] = kit->offsets[i] + (size_t)job->specs[i].replicas;
}

void kit_close(struct kit *kit)
{
	fixture_close(&kit->fixture);
	memset(kit, 0, sizeof(*kit));
}

void kit_set_pod(struct kit *kit, const char *type, int32_t index, int32_t phase, int32_t exit_code)
{
	const struct rh_job *job = kit->fixture.job;
	const struct rh_replica_spec *spec = rh_job_spec(job, type);
	size_t slot;

	assert_non_null(spec);
	slot = kit->offsets[spec - job->specs] + (size_t)index;
	assert_true(kit->offsets[job->spec_count] <= KIT_PODS_MAX && index < spec->replicas);
	kit->pods[slot] = (struct rh_pod){.phase = phase, .exit_code = exit_code};
	kit->slots[slot] = &kit->pods[slot];
	kit->fixture.snapshot.pods = kit->slots;
	kit->fixture.snapshot.offsets = kit->offsets;
}

static int kit_try_pod(struct kit *kit, const char *type, int32_t index, struct rh_json **ret_pod)
{
	rh_auto(builder) builder = NULL;
	int r = rh_builder_new(&kit->fixture.snapshot, &builder, &kit->fixture.err);

	return r == 0 ? rh_build_pod(builder, type, index, ret_pod, &kit->fixture.err) : r;
}

static int kit_try_objects(struct kit *kit, struct rh_json **ret_objects)
{
	rh_auto(builder) builder = NULL;
	int r = rh_builder_new(&kit->fixture.snapshot, &builder, &kit->fixture.err);

	return r == 0 ? rh_build_objects(builder, ret_objects, &kit->fixture.err) : r;
}

struct rh_json *kit_pod(struct kit *kit, const char *type, int32_t index)
{
	struct rh_json *pod = NULL;

	if (kit_try_pod(kit, type, index, &pod) < 0)
		fail_msg("%s", kit->fixture.err.message);
	return pod;
}

struct rh_json *kit_objects(struct kit *kit)
{
	struct rh_json *objects = NULL;

	if (kit_try_objects(kit, &objects) < 0)
		fail_msg("%s", kit->fixture.err.message);
	return objects;
}

void kit_assert_env(const struct rh_json *pod, size_t container, const char *want)
{
	const struct rh_json *item = rh_json_item(rh_json_at(pod, "spec.containers"), container);
	rh_auto_str printed = {0};

	for (const struct rh_json *entry = rh_json_first(rh_json_get(item, "env")); entry; entry = rh_json_next(entry)) {
		const char *field = rh_json_string_at(entry, "valueFrom.fieldRef.fieldPath");

		rh_str_appendf(&printed, "%s%s%s\n", rh_json_string_at(entry, "name"), field ? "<-" : "=",
		               field ? field : rh_json_string_at(entry, "value"));
	}
	assert_string_equal(rh_str_text(&printed), want);
}

void kit_assert_findings(struct kit *kit, const char *want)
{
	rh_auto_findings findings = {0};
	rh_auto_str printed = {0};

	if (rh_host_validate(&kit->fixture.snapshot, &findings, &kit->fixture.err) < 0)
		fail_msg("%s", kit->fixture.err.message);
	for (size_t i = 0; i < findings.count; i++) {
		const struct rh_finding *finding = &findings.items[i];

		rh_str_appendf(&printed, "%c %s%s%s\n", finding->severity == RH_FINDING_ERROR ? 'E' : 'W', finding->path,
		               *finding->path ? ": " : "", finding->detail);
	}
	assert_string_equal(rh_str_text(&printed), want);
}

void kit_assert_verdicts(struct kit *kit, const char *want)
{
	struct rh_judgement judgement = {0};
	rh_auto_str printed = {0};

	if (rh_host_judge(&kit->fixture.snapshot, &judgement, &kit->fixture.err) < 0)
		fail_msg("%s", kit->fixture.err.message);
	for (size_t i = 0; i < judgement.count; i++)
		rh_str_appendf(&printed, "%d %s %s\n", (int)judgement.items[i].verdict,
		               judgement.items[i].type ? judgement.items[i].type : "-", judgement.items[i].message);
	rh_judgement_deinit(&judgement);
	assert_string_equal(rh_str_text(&printed), want);
}

static void kit_assert_text(const char *what, const char *got, const char *want)
{
	if (!rh_text_equal(got, want))
		fail_msg("%s is \"%s\", not \"%s\"", what, got ? got : "NULL", want ? want : "NULL");
}

void kit_assert_kind(const struct kit *kit, const struct rh_kind *want, uint32_t flags)
{
	const struct rh_kind *got = kit->fixture.job->kind;

	kit_assert_text("group", got->group, want->group);
	kit_assert_text("version", got->version, want->version);
	kit_assert_text("kind", got->kind, want->kind);
	kit_assert_text("plural", got->plural, want->plural);
	kit_assert_text("singular", got->singular, want->singular);
	kit_assert_text("framework", got->framework, want->framework);
	kit_assert_text("controller", got->controller, want->controller);
	kit_assert_text("replicas_field", got->replicas_field, want->replicas_field);
	kit_assert_text("container", got->container, want->container);
	kit_assert_text("port_name", got->port_name, want->port_name);
	kit_assert_text("restart_policy", got->restart_policy, want->restart_policy);
	kit_assert_text("leader_fallback", got->leader_fallback, want->leader_fallback);
	assert_int_equal(got->port, want->port);
	assert_int_equal(got->flags, flags);
	for (size_t i = 0; want->types[i] || got->types[i]; i++) {
		kit_assert_text("type", got->types[i] ? got->types[i]->name : NULL,
		                want->types[i] ? want->types[i]->name : NULL);
		/* V1 has no ranks of rh_comm */
		assert_int_equal(got->types[i]->flags & ~RH_REPLICA_RANKED, want->types[i]->flags);
		assert_int_equal(got->types[i]->default_replicas, want->types[i]->default_replicas);
	}
}

void kit_assert_words_of_v1(const char *plugin, const char *name)
{
	rh_auto_free char *path = rh_asprintf("%s/invalid/%s.yaml", RH_GOLDENS, name);
	rh_auto_free char *yaml = NULL;
	rh_auto_free char *text = NULL;
	rh_auto(json) messages = NULL;
	rh_auto_findings findings = {0};
	rh_auto_str printed = {0};
	auto_kit kit;

	assert_int_equal(rh_file_read(RH_GOLDENS "/invalid/messages.json", 1 << 20, &text, NULL, NULL), 0);
	assert_int_equal(rh_json_parse(text, strlen(text), &messages, NULL), 0);
	assert_int_equal(rh_file_read(path, 1 << 20, &yaml, NULL, NULL), 0);
	kit_open(&kit, plugin, NULL, yaml);
	assert_int_equal(rh_host_validate(&kit.fixture.snapshot, &findings, NULL), 0);
	rh_findings_print_v1(&findings, &printed);
	assert_string_equal(rh_str_text(&printed), rh_json_string(rh_json_get(rh_json_get(messages, name), "message")));
}

/* One question with allocation n failing. @return 0, or RH_ENOMEM */
static int kit_ask(struct kit *kit, const char *type, int32_t index, long n)
{
	rh_auto_findings findings = {0};
	rh_auto(json) pod = NULL;
	rh_auto(json) objects = NULL;
	struct rh_judgement judgement = {0};
	int r;

	rh_mem_fail_after(n);
	r = kit_try_pod(kit, type, index, &pod);
	if (r == 0)
		r = kit_try_objects(kit, &objects);
	if (r == 0)
		r = rh_host_validate(&kit->fixture.snapshot, &findings, NULL);
	if (r == 0)
		r = rh_host_judge(&kit->fixture.snapshot, &judgement, NULL);
	rh_mem_fail_after(-1);
	rh_judgement_deinit(&judgement);
	return r;
}

void kit_assert_survives(struct kit *kit, const char *type, int32_t index)
{
	rh_auto(json) want = kit_pod(kit, type, index);
	rh_auto(json) got = NULL;
	int r = RH_ENOMEM;

	for (long n = 0; r != 0 && n < KIT_FAILURES_MAX; n++) {
		r = kit_ask(kit, type, index, n);
		assert_true(r == 0 || r == RH_ENOMEM);
	}
	assert_int_equal(r, 0);
	got = kit_pod(kit, type, index);
	assert_true(rh_json_equal(got, want));
}
