/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/samples/samples.h"

/* A replica, and what it used since the last line. Strings are owned. */
struct samples_replica {
	char *job;
	char *name;
	int64_t time; /* that it was looked at, microseconds; 0: it did not run */
	size_t processes;
	double cpu;     /* processors by microseconds */
	double read;    /* bytes by microseconds a second */
	double written; /* likewise */
	int64_t memory; /* most bytes */
};

struct rh_samples {
	char *path;
	int fd;         /* -1: no sample yet */
	int64_t start;  /* of the run, monotonic */
	int64_t since;  /* end of the last line, likewise */
	int64_t step;   /* time between two lines */
	size_t written; /* bytes since that was doubled */
	struct samples_replica *replicas;
	size_t count;
	size_t listed; /* of them, those that the file knows */
};

struct rh_samples *rh_samples_new(const char *path, int64_t start)
{
	struct rh_samples *samples = rh_alloc(sizeof(*samples));

	if (!samples)
		return NULL;
	*samples =
		(struct rh_samples){.path = rh_strdup(path), .fd = -1, .start = start, .since = start, .step = RH_SECOND};
	if (samples->path)
		return samples;
	rh_samples_free(samples);
	return NULL;
}

void rh_samples_free(struct rh_samples *samples)
{
	if (!samples)
		return;
	for (size_t i = 0; i < samples->count; i++) {
		rh_free(samples->replicas[i].job);
		rh_free(samples->replicas[i].name);
	}
	rh_free(samples->replicas);
	if (samples->fd >= 0)
		(void)close(samples->fd);
	rh_free(samples->path);
	rh_free(samples);
}

int64_t rh_samples_step(const struct rh_samples *samples)
{
	return samples->step;
}

static struct samples_replica *samples_add_replica(struct rh_samples *samples, const struct rh_run_use *use)
{
	struct samples_replica *grown = rh_realloc_array(samples->replicas, samples->count + 1, sizeof(*samples->replicas));
	struct samples_replica *made;

	if (!grown)
		return NULL;
	samples->replicas = grown;
	made = &grown[samples->count];
	*made = (struct samples_replica){.job = rh_strdup(use->job), .name = rh_strdup(use->replica)};
	if (made->job && made->name) {
		samples->count++;
		return made;
	}
	rh_free(made->job);
	rh_free(made->name);
	return NULL;
}

/* Looks come in about the same order each time. @param near where to begin. @return NULL: out of memory */
static struct samples_replica *samples_find(struct rh_samples *samples, const struct rh_run_use *use, size_t *near)
{
	for (size_t i = 0; i < samples->count; i++) {
		size_t index = (*near + i) % samples->count;
		struct samples_replica *replica = &samples->replicas[index];

		if (strcmp(replica->name, use->replica) != 0 || strcmp(replica->job, use->job) != 0)
			continue;
		*near = index + 1;
		return replica;
	}
	*near = 0;
	return samples_add_replica(samples, use);
}

static int samples_take(struct rh_samples *samples, const struct rh_run_load *load)
{
	double time = (double)load->time;
	size_t near = 0;

	for (size_t i = 0; i < load->use_count; i++) {
		const struct rh_run_use *use = &load->uses[i];
		struct samples_replica *replica = samples_find(samples, use, &near);

		if (!replica)
			return RH_ENOMEM;
		replica->time += load->time;
		replica->processes = use->processes;
		replica->cpu += use->cpu * time;
		replica->read += use->read * time;
		replica->written += use->written * time;
		if (use->memory > replica->memory)
			replica->memory = use->memory;
	}
	return 0;
}

static int samples_put_replicas(struct rh_samples *samples, struct rh_str *out)
{
	for (; samples->listed < samples->count; samples->listed++) {
		const struct samples_replica *replica = &samples->replicas[samples->listed];
		rh_auto(json) row = rh_json_new_object();

		if (!row || rh_json_set_integer(row, "replica", (int64_t)samples->listed) < 0 ||
		    rh_json_set_string(row, "job", replica->job) < 0 || rh_json_set_string(row, "name", replica->name) < 0)
			return RH_ENOMEM;
		rh_json_print(row, false, out);
		rh_str_append(out, "\n");
	}
	return 0;
}

static void samples_put_uses(struct rh_samples *samples, int64_t now, struct rh_str *out)
{
	const char *comma = "";

	rh_str_appendf(out, "{\"t\":%" PRId64 ",\"d\":%" PRId64 ",\"u\":[", (now - samples->start) / 1000,
	               (now - samples->since) / 1000);
	for (size_t i = 0; i < samples->count; i++) {
		struct samples_replica *replica = &samples->replicas[i];
		double time = (double)replica->time;

		if (replica->time <= 0)
			continue;
		rh_str_appendf(out, "%s[%zu,%zu,%.0f,%" PRId64 ",%.0f,%.0f]", comma, i, replica->processes,
		               1000 * replica->cpu / time, replica->memory / 1024, replica->read / time,
		               replica->written / time);
		comma = ",";
		*replica = (struct samples_replica){.job = replica->job, .name = replica->name};
	}
	rh_str_append(out, "]}\n");
}

/* One write for all: a reader sees a line or not. */
static int samples_append(struct rh_samples *samples, const struct rh_str *text)
{
	if (samples->fd < 0)
		samples->fd = open(samples->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (samples->fd < 0 || rh_fd_write_all(samples->fd, text->data, text->length, NULL) < 0)
		return RH_EIO;
	samples->written += text->length;
	if (samples->written >= RH_SAMPLES_ROOM) {
		samples->written = 0;
		samples->step *= 2;
	}
	return 0;
}

int rh_samples_add(struct rh_samples *samples, const struct rh_run_load *load, int64_t now)
{
	rh_auto_str text = {0};
	int r = load->time > 0 ? samples_take(samples, load) : 0;

	/* samples come a little late, and the next one a little less so */
	if (r < 0 || samples->count == 0 || now - samples->since < samples->step - samples->step / 8)
		return r;
	r = samples_put_replicas(samples, &text);
	if (r < 0)
		return r;
	samples_put_uses(samples, now, &text);
	samples->since = now;
	return text.failed ? RH_ENOMEM : samples_append(samples, &text);
}
