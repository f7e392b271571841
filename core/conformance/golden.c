/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/golden.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/yaml.h"
#include "build/build.h"
#include "build/validate.h"
#include "host/host.h"
#include "host/operations.h"
#include "job/lookups/lookup_files.h"

/** Largest recorded file. */
#define GOLDEN_FILE_MAX ((size_t)64 << 20)
/** Lines of a difference that are shown, of each side. */
#define GOLDEN_LINES 6

static int golden_append(const struct rh_json *object, struct rh_str *text)
{
	if (text->length > 0)
		rh_str_append(text, "---\n");
	return rh_yaml_print(object, text);
}

static int golden_replicas(struct rh_builder *builder, const struct rh_kind *kind, const struct rh_replica_spec *spec,
                           struct rh_str *text, struct rh_error *err)
{
	int r = 0;

	for (int32_t i = 0; r == 0 && i < spec->replicas; i++) {
		rh_auto(json) pod = NULL;
		rh_auto(json) service = NULL;

		r = rh_build_pod(builder, spec->type, i, &pod, err);
		if (r == 0 && golden_append(pod, text) < 0)
			r = rh_fail_oom(err);
		if (r == 0 && (kind->flags & RH_KIND_SERVICES)) {
			r = rh_build_service(builder, spec->type, i, &service, err);
			if (r == 0 && golden_append(service, text) < 0)
				r = rh_fail_oom(err);
		}
	}
	return r;
}

/** All objects of a job: what the plugin names, then pods and Services by type. */
static int golden_objects(const struct rh_snapshot *snapshot, struct rh_str *text, struct rh_error *err)
{
	const struct rh_job *job = snapshot->job;
	rh_auto(builder) builder = NULL;
	rh_auto(json) objects = NULL;
	const struct rh_json *object;
	int r = rh_builder_new(snapshot, &builder, err);

	if (r == 0)
		r = rh_build_objects(builder, &objects, err);
	for (object = rh_json_first(objects); r == 0 && object; object = rh_json_next(object)) {
		if (golden_append(object, text) < 0)
			r = rh_fail_oom(err);
	}
	for (size_t i = 0; r == 0 && i < job->spec_count; i++)
		r = golden_replicas(builder, job->kind, &job->specs[i], text, err);
	return r;
}

static int golden_check(const struct rh_snapshot *snapshot, struct rh_error *err)
{
	rh_auto_findings findings = {0};
	rh_auto_str words = {0};
	int r = rh_build_validate(snapshot, &findings, err);

	if (r == 0 && rh_lookups_report(snapshot->lookups, NULL, "any of them", &findings) < 0)
		r = rh_fail_oom(err);

	if (r < 0 || rh_findings_errors(&findings) == 0)
		return r;
	rh_findings_print_v1(&findings, &words);
	return rh_fail(err, RH_EINVAL, "the job is not valid: %s", rh_str_text(&words));
}

/** Add {"name", "text"} of a job to @p list. */
static int golden_add(struct rh_json *list, const struct rh_job *job, const struct rh_str *text)
{
	rh_auto_free char *name = rh_asprintf("%s-%s-%s.yaml", job->kind->singular, job->namespace_, job->name);
	rh_auto(json) row = rh_json_new_object();

	if (!name || !row || text->failed || rh_json_set_string(row, "name", name) < 0 ||
	    rh_json_set_string(row, "text", rh_str_text(text)) < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(row));
}

/* @param files what the job names may be in them, too */
static int golden_job(const struct rh_host *host, const struct rh_manifest *files,
                      const struct rh_manifest_object *from, struct rh_json *list, struct rh_error *err)
{
	rh_auto(job) job = NULL;
	rh_auto(lookups) lookups = NULL;
	rh_auto_str text = {0};
	struct rh_snapshot snapshot = {.host = host};
	struct rh_json *object = rh_json_copy(from->object);
	int r = object ? rh_host_parse(host, object, &job, err) : rh_fail_oom(err);

	if (r == 0 && rh_lookups_of_files(job, files, &lookups) < 0)
		r = rh_fail_oom(err);
	snapshot.job = job;
	snapshot.lookups = lookups;
	if (r == 0)
		r = rh_host_expand(&snapshot, job, err);
	if (r == 0)
		r = golden_check(&snapshot, err);
	if (r == 0)
		r = golden_objects(&snapshot, &text, err);
	if (r == 0 && golden_add(list, job, &text) < 0)
		r = rh_fail_oom(err);
	return r < 0 && r != RH_ENOMEM ? rh_wrap(err, r, "%s", from->source) : r;
}

int rh_golden_render(const struct rh_config *config, const char *file, const struct rh_manifest *jobs, int fd,
                     struct rh_error *err)
{
	rh_auto(json) list = rh_json_new_array();
	rh_auto_free char *text = NULL;
	rh_auto(host) host = NULL;
	int r = list ? rh_host_new(config, &host, err) : rh_fail_oom(err);

	if (r == 0)
		r = rh_host_load_file(host, file, err);
	for (size_t i = 0; i < jobs->count && r == 0; i++) {
		const struct rh_json *object = jobs->items[i].object;

		if (rh_host_kind(host, rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"), NULL))
			r = golden_job(host, jobs, &jobs->items[i], list, err);
	}
	if (r < 0)
		return r;
	text = rh_json_text(list);
	return text ? rh_fd_write_all(fd, text, strlen(text), err) : rh_fail_oom(err);
}

int rh_golden_record(const struct rh_json *rendered, const char *folder, struct rh_error *err)
{
	int r = rh_dir_make(folder, 0777, err);

	for (const struct rh_json *row = rh_json_first(rendered); row && r == 0; row = rh_json_next(row)) {
		const char *text = rh_json_string_at(row, "text");
		rh_auto_free char *path = rh_path_join(folder, rh_json_string_at(row, "name"));

		r = path ? rh_file_write_atomic(path, text, strlen(text), 0644, err) : rh_fail_oom(err);
	}
	return r;
}

/** Append up to GOLDEN_LINES lines of @p text, each behind @p sign. */
static void golden_lines(const char *text, char sign, struct rh_str *out)
{
	for (int i = 0; i < GOLDEN_LINES && *text; i++) {
		size_t length = strcspn(text, "\n");

		rh_str_appendf(out, "\n%c ", sign);
		rh_str_append_line(out, text, length, 100);
		text += length + (text[length] == '\n');
	}
}

/** The first difference of two texts: the line's number, and the lines of both sides until they agree again. */
static void golden_report(struct rh_board *board, const char *name, const char *was, const char *is)
{
	rh_auto_str diff = {0};
	const char *was_end = was + strlen(was), *is_end = is + strlen(is);
	size_t line = 1, start = 0;
	rh_auto_free char *removed = NULL, *added = NULL;

	for (size_t at = 0; was[at] && was[at] == is[at]; at++) {
		if (was[at] == '\n') {
			line++;
			start = at + 1;
		}
	}
	while (was_end > was + start && is_end > is + start && was_end[-1] == is_end[-1]) {
		was_end--;
		is_end--;
	}
	was_end += strcspn(was_end, "\n");
	is_end += strcspn(is_end, "\n");
	removed = rh_strndup(was + start, (size_t)(was_end - was) - start);
	added = rh_strndup(is + start, (size_t)(is_end - is) - start);
	if (removed)
		golden_lines(removed, '-', &diff);
	if (added)
		golden_lines(added, '+', &diff);
	snprintf(board->where, sizeof(board->where), "%.200s, line %zu", name, line);
	rh_board_add(board, RH_CHECK_GOLDEN, "it is not what is recorded (-), but (+):%s", rh_str_text(&diff));
}

int rh_golden_compare(struct rh_board *board, const struct rh_json *rendered, const char *folder, struct rh_error *err)
{
	for (const struct rh_json *row = rh_json_first(rendered); row; row = rh_json_next(row)) {
		const char *name = rh_json_string_at(row, "name");
		const char *text = rh_json_string_at(row, "text");
		rh_auto_free char *path = rh_path_join(folder, name);
		rh_auto_free char *recorded = NULL;
		int r = path ? rh_file_read(path, GOLDEN_FILE_MAX, &recorded, NULL, err) : rh_fail_oom(err);

		if (r == RH_ENOENT) {
			rh_copy(board->where, sizeof(board->where), name);
			rh_board_add(board, RH_CHECK_GOLDEN, "nothing is recorded of this job in \"%s\": use --record", folder);
		} else if (r < 0) {
			return r;
		} else if (strcmp(recorded, text) != 0) {
			golden_report(board, name, recorded, text);
		}
	}
	return 0;
}
