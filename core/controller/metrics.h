/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/metrics.h
 * @brief Metrics of the controller, in Prometheus' text format.
 *
 * Every family is a row of one table: its name, help and labels. A family has a limited number of series; further ones
 * are counted with the label value "other", so that names chosen by users cannot exhaust the memory of the controller
 * or of Prometheus. Values are dropped when memory is out. All functions are called on the loop's thread.
 */
#ifndef RH_CONTROLLER_METRICS_H
#define RH_CONTROLLER_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"

/** The families; each comment lists the labels in order. */
enum rh_metric {
	RH_METRIC_JOBS_CREATED,      /**< job_namespace, framework: V1's, likewise the next four */
	RH_METRIC_JOBS_DELETED,      /**< job_namespace, framework */
	RH_METRIC_JOBS_SUCCESSFUL,   /**< job_namespace, framework */
	RH_METRIC_JOBS_FAILED,       /**< job_namespace, framework */
	RH_METRIC_JOBS_RESTARTED,    /**< job_namespace, framework */
	RH_METRIC_RESTARTS,          /**< framework, cause */
	RH_METRIC_START_TIME,        /**< framework; histogram: from the job's creation until all its replicas run */
	RH_METRIC_RECONCILES,        /**< controller */
	RH_METRIC_RECONCILE_TIME,    /**< controller; histogram */
	RH_METRIC_QUEUE_TIME,        /**< name; histogram: how long a due job has waited */
	RH_METRIC_QUEUE_DEPTH,       /**< name; gauge */
	RH_METRIC_JOBS,              /**< gauge, no label */
	RH_METRIC_JOBS_SLOWED,       /**< gauge, no label */
	RH_METRIC_API_REQUESTS,      /**< verb, resource, code */
	RH_METRIC_API_TIME,          /**< verb, resource; histogram */
	RH_METRIC_API_WAITING,       /**< gauge, no label */
	RH_METRIC_API_IN_FLIGHT,     /**< gauge, no label */
	RH_METRIC_API_WINDOW,        /**< gauge, no label */
	RH_METRIC_WATCHES,           /**< gauge, no label */
	RH_METRIC_WATCHED_OBJECTS,   /**< gauge, no label */
	RH_METRIC_WATCH_PROBLEMS,    /**< resource, verb; gauge: 1 while the watch fails */
	RH_METRIC_LEADER,            /**< name; gauge */
	RH_METRIC_WEBHOOK_REQUESTS,  /**< kind, allowed */
	RH_METRIC_PLUGIN_RELOADS,    /**< result: "loaded" or "refused" */
	RH_METRIC_PLUGINS_CURRENT,   /**< gauge, no label: 1, or 0 while the installed plugins are refused */
	RH_METRIC_BUILD,             /**< version; gauge, always 1 */
	RH_METRIC_PROCESS_CPU,       /**< counter, no label */
	RH_METRIC_PROCESS_RESIDENT,  /**< gauge, no label */
	RH_METRIC_PROCESS_VIRTUAL,   /**< gauge, no label */
	RH_METRIC_PROCESS_FILES,     /**< gauge, no label */
	RH_METRIC_PROCESS_MAX_FILES, /**< gauge, no label */
	RH_METRIC_PROCESS_START,     /**< gauge, no label */
	RH_METRICS
};

/** Most series of one family. */
#define RH_METRIC_SERIES_MAX 500

/** Opaque set of metrics. */
struct rh_metrics;

/** @return an empty set, owned by the caller; NULL: out of memory */
struct rh_metrics *rh_metrics_new(void) __attribute__((warn_unused_result));
/** Free @p metrics. NULL is ignored. */
void rh_metrics_free(struct rh_metrics *metrics);
RH_DEFINE_CLEANUP(metrics);
/**
 * Raise a counter or gauge. @param labels values in the order of the family, one for each label; NULL for a family
 * without labels. @param amount may be negative for a gauge
 */
void rh_metrics_add(struct rh_metrics *metrics, enum rh_metric family, const char *const *labels, double amount);
/** Set a gauge, or a counter that is kept elsewhere. */
void rh_metrics_set(struct rh_metrics *metrics, enum rh_metric family, const char *const *labels, double value);
/**
 * Set all existing series of a family of gauges whose first label has the value @p first. The series "other" keeps its
 * value.
 */
void rh_metrics_set_all(struct rh_metrics *metrics, enum rh_metric family, const char *first, double value);
/** Add @p value to a histogram. */
void rh_metrics_observe(struct rh_metrics *metrics, enum rh_metric family, const char *const *labels, double value);
/** @return the value of a counter or gauge, the count of a histogram; 0 for a missing series */
double rh_metrics_value(const struct rh_metrics *metrics, enum rh_metric family, const char *const *labels);
/** Print all families that have a series, in Prometheus' text format 0.0.4. */
void rh_metrics_print(const struct rh_metrics *metrics, struct rh_str *out);

#endif
