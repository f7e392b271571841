/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/status.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "cli/commands/runs/sizes.h"

/* A replica that reports no progress for so long is not waited for any more. */
#define STATUS_STALE (60 * RH_SECOND)

/* How far one replica is. */
struct rh_status_replica {
	char *name; /* owned */
	struct rh_progress progress;
	int64_t at; /* when it wrote it, monotonic */
};

void rh_status_deinit(struct rh_status_line *status)
{
	for (size_t i = 0; i < status->progress.count; i++)
		rh_free(status->progress.items[i].name);
	rh_free(status->progress.items);
	rh_free(status->job);
	rh_str_deinit(&status->state);
	rh_str_deinit(&status->replicas);
	rh_str_deinit(&status->running);
	rh_str_deinit(&status->reported);
	*status = (struct rh_status_line){.job = NULL};
}

static struct rh_status_replica *status_find(struct rh_status_replicas *replicas, const char *name)
{
	for (size_t i = 0; i < replicas->count; i++) {
		if (strcmp(replicas->items[i].name, name) == 0)
			return &replicas->items[i];
	}
	return NULL;
}

static void status_add(struct rh_status_replicas *replicas, const struct rh_status_replica *replica)
{
	struct rh_status_replica *grown = rh_realloc_array(replicas->items, replicas->count + 1, sizeof(*grown));

	if (grown)
		replicas->items = grown;
	if (!grown || !replica->name) {
		rh_free(replica->name);
		return;
	}
	grown[replicas->count++] = *replica;
}

bool rh_status_read_line(struct rh_status_line *status, const char *name, const char *text, size_t length, int64_t now)
{
	struct rh_status_replica *replica = status_find(&status->progress, name);
	struct rh_status_replica fresh = {.at = now};

	if (!rh_progress_read(replica ? &replica->progress : &fresh.progress, text, length))
		return false;
	if (replica) {
		replica->at = now;
		return true;
	}
	fresh.name = rh_strdup(name);
	status_add(&status->progress, &fresh);
	return true;
}

const struct rh_progress *rh_status_progress(const struct rh_status_line *status, int64_t now)
{
	const struct rh_status_replica *last = NULL;

	for (size_t i = 0; i < status->progress.count; i++) {
		const struct rh_status_replica *replica = &status->progress.items[i];
		bool stale = now - replica->at > STATUS_STALE;
		bool last_stale = last && now - last->at > STATUS_STALE;

		if (!last || (last_stale && !stale) ||
		    (last_stale == stale && rh_progress_is_behind(&replica->progress, &last->progress)))
			last = replica;
	}
	return last ? &last->progress : NULL;
}

/* What a line is made of; the less important parts first. */
enum status_part { STATUS_BY_TYPE, STATUS_LOAD, STATUS_GPU, STATUS_STATE, STATUS_RUNNING, STATUS_JOB, STATUS_PARTS };

static void status_join(struct rh_str *out, const char *text)
{
	if (*text)
		rh_str_appendf(out, "%s%s", out->length > 0 ? "  " : "", text);
}

static void status_append_load(const struct rh_run_load *load, struct rh_str *out)
{
	char memory[RH_SIZE_SIZE];
	rh_auto_str text = {0};

	if (load->processes == 0)
		return;
	rh_str_appendf(&text, "cpu %.0f%%  mem %s", 100 * load->cpu, rh_size_format(load->memory, memory));
	status_join(out, rh_str_text(&text));
}

static void status_append_gpu(const struct rh_gpu_total *gpu, struct rh_str *out)
{
	char memory[RH_SIZE_SIZE];
	rh_auto_str share = {0};
	rh_auto_str room = {0};

	if (gpu->count == 0)
		return;
	if (gpu->share >= 0)
		rh_str_appendf(&share, "gpu %.0f%%", 100 * gpu->share);
	if (gpu->memory >= 0)
		rh_str_appendf(&room, "gpu mem %s", rh_size_format(gpu->memory, memory));
	status_join(out, rh_str_text(&share));
	status_join(out, rh_str_text(&room));
}

/* What rh_comm counts shows that a training goes on that reports nothing and prints no progress. */
static void status_append_operations(const struct rh_run_load *load, struct rh_str *out)
{
	if (load->operations == 0)
		return;
	rh_str_appendf(out, "rh_comm %" PRIu64 " operations", load->operations);
	if (load->operation_rate > 0)
		rh_str_appendf(out, ", %.*f/s", load->operation_rate < 10 ? 1 : 0, load->operation_rate);
}

/* The line without its less important parts, of which there are `left_out`. */
static void status_compose(const struct rh_status_line *status, int left_out, const char *progress, struct rh_str *out)
{
	if (left_out <= STATUS_JOB)
		status_join(out, status->job);
	if (left_out <= STATUS_STATE)
		status_join(out, rh_str_text(&status->state));
	if (left_out <= STATUS_BY_TYPE)
		status_join(out, rh_str_text(&status->replicas));
	else if (left_out <= STATUS_RUNNING)
		status_join(out, rh_str_text(&status->running));
	if (left_out <= STATUS_LOAD)
		status_append_load(&status->load, out);
	if (left_out <= STATUS_GPU)
		status_append_gpu(&status->gpu, out);
	status_join(out, progress);
}

void rh_status_append(const struct rh_status_line *status, size_t width, int64_t now, struct rh_str *out)
{
	const struct rh_progress *progress = rh_status_progress(status, now);
	rh_auto_str far = {0};

	if (!status->job)
		return;
	if (status->load.stalled[0] != '\0')
		rh_str_appendf(&far, "stalled: %s", status->load.stalled);
	else if (status->reported.length > 0)
		rh_str_append(&far, rh_str_text(&status->reported));
	else if (progress)
		rh_progress_append(progress, &far);
	else
		status_append_operations(&status->load, &far);
	for (int left_out = 0; left_out <= STATUS_PARTS; left_out++) {
		bool last = left_out == (far.length > 0 ? STATUS_PARTS : STATUS_JOB);
		rh_auto_str line = {0};

		status_compose(status, left_out, rh_str_text(&far), &line);
		if (line.length > width && !last)
			continue;
		rh_str_append_bytes(out, rh_str_text(&line), line.length < width ? line.length : width);
		return;
	}
}
