/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"

/* Most labels of one family. */
#define METRICS_LABELS_MAX 3
/* Stands for the values of all series beyond the bound. */
#define METRICS_OTHER "other"

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM };

struct metrics_family {
	const char *name;
	const char *help;
	enum metrics_type type;
	const char *labels[METRICS_LABELS_MAX + 1];
	const double *bounds; /* of a histogram, ascending, ended by 0 */
};

/* One combination of label values. */
struct metrics_series {
	double value;    /* the sum of a histogram */
	uint64_t count;  /* of a histogram */
	uint64_t *tiers; /* of a histogram: how many fell into each, not cumulated */
};

struct rh_metrics {
	struct rh_map *series[RH_METRICS]; /* printed labels to struct metrics_series; NULL until there is one */
};

/* Seconds. Reconciling and waiting take microseconds to seconds, a request to a server milliseconds to a minute, a job
 * to start up to an hour. */
static const double metrics_short[] = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 10, 60, 0};
static const double metrics_call[] = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 0};
static const double metrics_long[] = {0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 0};

#define METRICS_JOB_LABELS           \
	{                                \
		"job_namespace", "framework" \
	}

static const struct metrics_family metrics_families[RH_METRICS] = {
	[RH_METRIC_JOBS_CREATED] = {"training_operator_jobs_created_total",
                                "Jobs that were created, and at a start each that exists", METRICS_COUNTER,
                                METRICS_JOB_LABELS, NULL},
	[RH_METRIC_JOBS_DELETED] = {"training_operator_jobs_deleted_total",
                                "Jobs that were deleted because ttlSecondsAfterFinished was over", METRICS_COUNTER,
                                METRICS_JOB_LABELS, NULL},
	[RH_METRIC_JOBS_SUCCESSFUL] = {"training_operator_jobs_successful_total", "Jobs that have succeeded",
                                   METRICS_COUNTER, METRICS_JOB_LABELS, NULL},
	[RH_METRIC_JOBS_FAILED] = {"training_operator_jobs_failed_total", "Jobs that have failed", METRICS_COUNTER,
                               METRICS_JOB_LABELS, NULL},
	[RH_METRIC_JOBS_RESTARTED] = {"training_operator_jobs_restarted_total", "Restarts of replicas", METRICS_COUNTER,
                                  METRICS_JOB_LABELS, NULL},
	[RH_METRIC_RESTARTS] =
		{"roundhouse_restarts_total", "Restarts of replicas by cause", METRICS_COUNTER, {"framework", "cause"}, NULL},
	[RH_METRIC_START_TIME] = {"roundhouse_job_start_seconds",
                              "From the creation of a job until all its replicas run for the first time",
                              METRICS_HISTOGRAM,
                              {"framework"},
                              metrics_long},
	[RH_METRIC_RECONCILES] =
		{"controller_runtime_reconcile_total", "Decisions about a job", METRICS_COUNTER, {"controller"}, NULL},
	[RH_METRIC_RECONCILE_TIME] = {"controller_runtime_reconcile_time_seconds",
                                  "How long one decision and the sending of what it asks for take",
                                  METRICS_HISTOGRAM,
                                  {"controller"},
                                  metrics_short},
	[RH_METRIC_QUEUE_TIME] = {"workqueue_queue_duration_seconds",
                              "How long a job that was due has waited",
                              METRICS_HISTOGRAM,
                              {"name"},
                              metrics_short},
	[RH_METRIC_QUEUE_DEPTH] = {"workqueue_depth", "Jobs that are due", METRICS_GAUGE, {"name"}, NULL},
	[RH_METRIC_JOBS_SLOWED] = {"roundhouse_jobs_slowed",
                               "Jobs in which the ranks of rh_comm wait for one that comes last, where logs are read",
                               METRICS_GAUGE,
                               {NULL},
                               NULL},
	[RH_METRIC_JOBS] = {"roundhouse_jobs", "Jobs in the cache, finished ones included", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_API_REQUESTS] = {"roundhouse_api_requests_total",
                                "Requests to the API server; code 0 is one without an answer",
                                METRICS_COUNTER,
                                {"verb", "resource", "code"},
                                NULL},
	[RH_METRIC_API_TIME] = {"roundhouse_api_request_duration_seconds",
                            "From sending a request to the last byte of its answer, watches excepted",
                            METRICS_HISTOGRAM,
                            {"verb", "resource"},
                            metrics_call},
	[RH_METRIC_API_WAITING] =
		{"roundhouse_api_waiting", "Requests that wait for the window", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_API_IN_FLIGHT] =
		{"roundhouse_api_in_flight", "Requests in flight, watches excepted", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_API_WINDOW] =
		{"roundhouse_api_window", "How many requests may be in flight", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_WATCHES] = {"roundhouse_watches", "Watches that work", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_WATCHED_OBJECTS] =
		{"roundhouse_watched_objects", "Objects that the watches know", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_WATCH_PROBLEMS] =
		{"roundhouse_watch_problem", "1 while that does not work", METRICS_GAUGE, {"resource", "verb"}, NULL},
	[RH_METRIC_LEADER] =
		{"leader_election_master_status", "1 on the instance that works", METRICS_GAUGE, {"name"}, NULL},
	[RH_METRIC_WEBHOOK_REQUESTS] = {"roundhouse_webhook_requests_total",
                                    "Jobs that the webhook has judged",
                                    METRICS_COUNTER,
                                    {"kind", "allowed"},
                                    NULL},
	[RH_METRIC_PLUGIN_RELOADS] = {"roundhouse_plugin_reloads_total",
                                  "How often plugins were loaded anew, or refused",
                                  METRICS_COUNTER,
                                  {"result"},
                                  NULL},
	[RH_METRIC_PLUGINS_CURRENT] = {"roundhouse_plugins_current",
                                   "0 while the installed plugins are refused and earlier ones work",
                                   METRICS_GAUGE,
                                   {NULL},
                                   NULL},
	[RH_METRIC_BUILD] = {"roundhouse_build_info", "Version of this program", METRICS_GAUGE, {"version"}, NULL},
	[RH_METRIC_PROCESS_CPU] = {"process_cpu_seconds_total", "User and system time", METRICS_COUNTER, {NULL}, NULL},
	[RH_METRIC_PROCESS_RESIDENT] = {"process_resident_memory_bytes", "Resident memory", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_PROCESS_VIRTUAL] = {"process_virtual_memory_bytes", "Virtual memory", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_PROCESS_FILES] = {"process_open_fds", "Open descriptors", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_PROCESS_MAX_FILES] =
		{"process_max_fds", "Most descriptors that may be open", METRICS_GAUGE, {NULL}, NULL},
	[RH_METRIC_PROCESS_START] = {"process_start_time_seconds",
                                 "When the process started, seconds since the epoch",
                                 METRICS_GAUGE,
                                 {NULL},
                                 NULL},
};

struct rh_metrics *rh_metrics_new(void)
{
	return rh_alloc(sizeof(struct rh_metrics));
}

static void metrics_free_series(struct metrics_series *series)
{
	if (!series)
		return;
	rh_free(series->tiers);
	rh_free(series);
}

void rh_metrics_free(struct rh_metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t i = 0; i < RH_METRICS; i++) {
		size_t cursor = 0;
		void *series;

		while (metrics->series[i] && rh_map_next(metrics->series[i], &cursor, NULL, &series))
			metrics_free_series(series);
		rh_map_free(metrics->series[i]);
	}
	rh_free(metrics);
}

static size_t metrics_tiers(const struct metrics_family *family)
{
	size_t count = 0;

	while (family->bounds && family->bounds[count] > 0)
		count++;
	return count;
}

/* A value may hold anything that a name of Kubernetes or a server's answer can. */
static void metrics_print_value(const char *value, struct rh_str *out)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			rh_str_append(out, "\\");
		if (*value == '\n')
			rh_str_append(out, "\\n");
		else
			rh_str_append_bytes(out, value, 1);
	}
}

/* Without braces, so that a histogram can add its own. @p labels NULL: every value is "other" */
static void metrics_print_labels(const struct metrics_family *family, const char *const *labels, struct rh_str *out)
{
	for (size_t i = 0; family->labels[i]; i++) {
		rh_str_appendf(out, "%s%s=\"", i > 0 ? "," : "", family->labels[i]);
		metrics_print_value(labels ? labels[i] : METRICS_OTHER, out);
		rh_str_append(out, "\"");
	}
}

static struct metrics_series *metrics_add_series(struct rh_map *map, const struct metrics_family *family,
                                                 const char *key)
{
	struct metrics_series *series = rh_alloc(sizeof(*series));

	if (series && family->type == METRICS_HISTOGRAM)
		series->tiers = rh_alloc_array(metrics_tiers(family) + 1, sizeof(*series->tiers));
	if (!series || (family->type == METRICS_HISTOGRAM && !series->tiers) || rh_map_set(map, key, series, NULL) < 0) {
		metrics_free_series(series);
		return NULL;
	}
	return series;
}

/* @return NULL when memory is out */
static struct metrics_series *metrics_find(struct rh_metrics *metrics, enum rh_metric id, const char *const *labels)
{
	const struct metrics_family *family = &metrics_families[id];
	rh_auto_str key = {0};
	struct metrics_series *series;

	if (!metrics->series[id])
		metrics->series[id] = rh_map_new();
	if (!metrics->series[id])
		return NULL;
	metrics_print_labels(family, labels, &key);
	if (key.failed)
		return NULL;
	series = rh_map_get(metrics->series[id], rh_str_text(&key));
	if (series)
		return series;
	if (labels && rh_map_size(metrics->series[id]) >= RH_METRIC_SERIES_MAX)
		return metrics_find(metrics, id, NULL);
	return metrics_add_series(metrics->series[id], family, rh_str_text(&key));
}

void rh_metrics_add(struct rh_metrics *metrics, enum rh_metric family, const char *const *labels, double amount)
{
	struct metrics_series *series = metrics_find(metrics, family, labels);

	if (series)
		series->value += amount;
}

void rh_metrics_set(struct rh_metrics *metrics, enum rh_metric family, const char *const *labels, double value)
{
	struct metrics_series *series = metrics_find(metrics, family, labels);

	if (series)
		series->value = value;
}

void rh_metrics_set_all(struct rh_metrics *metrics, enum rh_metric family, const char *first, double value)
{
	rh_auto_str start = {0};
	size_t cursor = 0;
	const char *labels;
	void *series;

	rh_str_appendf(&start, "%s=\"", metrics_families[family].labels[0]);
	metrics_print_value(first, &start);
	rh_str_append(&start, "\"");
	while (!start.failed && metrics->series[family] &&
	       rh_map_next(metrics->series[family], &cursor, &labels, &series)) {
		if (strncmp(labels, rh_str_text(&start), start.length) == 0)
			((struct metrics_series *)series)->value = value;
	}
}

void rh_metrics_observe(struct rh_metrics *metrics, enum rh_metric family, const char *const *labels, double value)
{
	const double *bounds = metrics_families[family].bounds;
	struct metrics_series *series = metrics_find(metrics, family, labels);
	size_t tier = 0;

	if (!series)
		return;
	while (bounds[tier] > 0 && value > bounds[tier])
		tier++;
	series->tiers[tier]++;
	series->value += value;
	series->count++;
}

double rh_metrics_value(const struct rh_metrics *metrics, enum rh_metric family, const char *const *labels)
{
	const struct metrics_series *series = NULL;
	rh_auto_str key = {0};

	metrics_print_labels(&metrics_families[family], labels, &key);
	if (metrics->series[family])
		series = rh_map_get(metrics->series[family], rh_str_text(&key));
	if (!series)
		return 0;
	return metrics_families[family].type == METRICS_HISTOGRAM ? (double)series->count : series->value;
}

static void metrics_print_histogram(const struct metrics_family *family, const char *labels,
                                    const struct metrics_series *series, struct rh_str *out)
{
	const char *comma = *labels ? "," : "";
	size_t tiers = metrics_tiers(family);
	uint64_t below = 0;

	for (size_t i = 0; i < tiers; i++) {
		below += series->tiers[i];
		rh_str_appendf(out, "%s_bucket{%s%sle=\"%.15g\"} %" PRIu64 "\n", family->name, labels, comma, family->bounds[i],
		               below);
	}
	rh_str_appendf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", family->name, labels, comma, series->count);
	rh_str_appendf(out, *labels ? "%s_sum{%s} %.15g\n" : "%s_sum%s %.15g\n", family->name, labels, series->value);
	rh_str_appendf(out, *labels ? "%s_count{%s} %" PRIu64 "\n" : "%s_count%s %" PRIu64 "\n", family->name, labels,
	               series->count);
}

static void metrics_print_family(const struct metrics_family *family, const struct rh_map *map, struct rh_str *out)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};
	size_t cursor = 0;
	const char *labels;
	void *value;

	rh_str_appendf(out, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help, family->name, types[family->type]);
	while (rh_map_next(map, &cursor, &labels, &value)) {
		const struct metrics_series *series = value;

		if (family->type == METRICS_HISTOGRAM)
			metrics_print_histogram(family, labels, series, out);
		else if (*labels)
			rh_str_appendf(out, "%s{%s} %.15g\n", family->name, labels, series->value);
		else
			rh_str_appendf(out, "%s %.15g\n", family->name, series->value);
	}
}

void rh_metrics_print(const struct rh_metrics *metrics, struct rh_str *out)
{
	for (size_t i = 0; i < RH_METRICS; i++) {
		if (metrics->series[i] && rh_map_size(metrics->series[i]) > 0)
			metrics_print_family(&metrics_families[i], metrics->series[i], out);
	}
}
