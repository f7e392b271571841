/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a controller's loop stands still for a plugin whose process ends at every second job: the time of each call
 * of an operation, and of each step that takes an answer. usage: bench_worker PLUGIN [DEATHS]
 *
 * PLUGIN is tests/host/trouble/trouble.so of the build. Busy processes beside it make the difference: see
 * docs/performance.md.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "host/operations.h"
#include "host/registry.h"
#include "job/expansion.h"

#define BENCH_DEATHS 100

/* Microseconds of each call. */
struct bench {
	struct rh_loop *loop; /* with the worker processes of the host */
	int64_t due;          /* deadline of its last turn; before the first one: at once */
	int64_t *times;
	size_t count;
	size_t room;
};

static void bench_note(struct bench *bench, int64_t began)
{
	if (bench->count < bench->room)
		bench->times[bench->count++] = rh_clock_monotonic() - began;
}

static void bench_ready(void *arg)
{
	*(bool *)arg = true;
}

/* Wait as the loop of a controller does, and let the host take what is there. */
static void bench_wait(struct bench *bench, const struct rh_host *host)
{
	struct pollfd poll_events = {.fd = host->events, .events = POLLIN};
	int64_t began = rh_clock_monotonic();
	int64_t left = bench->due - began;

	(void)poll(&poll_events, 1, left <= 0 ? 0 : left > RH_SECOND ? 1000 : (int)(left / 1000) + 1);
	began = rh_clock_monotonic();
	bench->due = rh_loop_turn(bench->loop, began);
	bench_note(bench, began);
}

/* Ask for one job until it has its answer, or the process has ended over it. @return 0 or negative */
static int bench_ask(struct bench *bench, struct rh_host *host, const char *name, const char *trouble)
{
	rh_auto_free char *text = rh_asprintf(
		"{\"apiVersion\":\"example.org/v1\",\"kind\":\"TroubleJob\",\"metadata\":{\"name\":\"%s\",\"annotations\":{"
		"\"example.org/trouble\":\"%s\"}},\"spec\":{}}",
		name, trouble);
	struct rh_snapshot snapshot = {.host = host};
	struct rh_json *object = NULL;
	struct rh_job *job = NULL;
	bool ready = false;
	int r = text ? rh_json_parse(text, strlen(text), &object, NULL) : RH_ENOMEM;

	if (r == 0)
		r = rh_host_parse(host, object, &job, NULL);
	if (r < 0)
		return r;
	snapshot.job = job;
	snapshot.answers = rh_answers_new(bench_ready, &ready);
	do {
		int64_t began = rh_clock_monotonic();

		ready = false;
		r = rh_host_expand(&snapshot, job, NULL);
		bench_note(bench, began);
		while (r == RH_EAGAIN && rh_answers_are_awaited(snapshot.answers) && !ready)
			bench_wait(bench, host);
	} while (ready);
	rh_answers_free(snapshot.answers);
	rh_job_free(job);
	return *trouble ? 0 : r;
}

static int bench_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void bench_print(struct bench *bench, int deaths)
{
	size_t middle = bench->count / 2, late = bench->count * 99 / 100;
	int64_t sum = 0;

	qsort(bench->times, bench->count, sizeof(*bench->times), bench_compare);
	for (size_t i = 0; i < bench->count; i++)
		sum += bench->times[i];
	printf("%d deaths, %zu calls: median %.2f ms, 99 %% %.2f ms, longest %.2f ms; %.2f ms for each death\n", deaths,
	       bench->count, (double)bench->times[middle] / 1e3, (double)bench->times[late] / 1e3,
	       (double)bench->times[bench->count - 1] / 1e3, (double)sum / 1e3 / deaths);
}

int main(int argc, char *argv[])
{
	int deaths = argc > 2 ? (int)strtol(argv[2], NULL, 10) : BENCH_DEATHS;
	struct bench bench = {.room = (size_t)deaths * 64};
	rh_auto(config) config = rh_config_new();
	rh_auto(host) host = NULL;
	struct rh_host_attachment *attachment = NULL;
	int r = config && argc > 1 && deaths > 0 ? 0 : -1;

	if (r == 0) {
		config->plugin_isolation = RH_ISOLATION_PROCESS;
		r = rh_host_new(config, &host, NULL);
	}
	if (r == 0)
		r = rh_host_try_file(host, argv[1], NULL);
	if (r == 0)
		r = rh_loop_new(&bench.loop, NULL);
	if (r == 0)
		r = rh_host_attach(host, bench.loop, 0, &attachment, NULL);
	bench.times = rh_alloc_array(bench.room, sizeof(*bench.times));
	if (r < 0 || !bench.times)
		return 1;
	rh_host_set_retry(host, true);
	for (int i = 0; i < deaths && r == 0; i++) {
		rh_auto_free char *name = rh_asprintf("j%d", i);

		r = name ? bench_ask(&bench, host, "good", "") : RH_ENOMEM;
		if (r == 0)
			r = bench_ask(&bench, host, name, "expand segv");
	}
	if (r == 0)
		bench_print(&bench, deaths);
	rh_host_attachment_free(attachment);
	rh_loop_free(bench.loop);
	rh_free(bench.times);
	return r < 0;
}
