/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/page/metrics.h
 * @brief Numbers that a training writes into its log: "loss=0.31", "accuracy: 97.2%", "'eval_loss': 0.4".
 *
 * Pure: no file is read. A pair of a name and a number is a point of the series of that name; "epoch" and "step" of the
 * same line, or of the last line that had one, are where it lies. The memory of a series is bounded: when it is full,
 * every second point goes, and from then on every second one is taken.
 */
#ifndef RH_CLI_PAGE_METRICS_H
#define RH_CLI_PAGE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/** Most bytes of a name, with the zero. */
#define RH_PAGE_METRIC_NAME_SIZE 48
/** In place of a time that is unknown. */
#define RH_PAGE_METRIC_NO_TIME INT64_MIN

/** One point. */
struct rh_page_point {
	double value; /**< may be NAN or infinite: a loss that diverged */
	double step;  /**< NAN: unknown */
	int64_t at;   /**< as rh_page_metrics_line() got it */
};

/** The points of one name. */
struct rh_page_metric {
	char name[RH_PAGE_METRIC_NAME_SIZE]; /**< in lower case */
	bool known;                          /**< a name that trainings use for what they report */
	struct rh_page_point *points;        /**< owned */
	size_t count;                        /**< of points that are kept */
	int64_t seen;                        /**< of points that there were */
	int64_t every;                       /**< of how many points one is kept */
	struct rh_page_point last;           /**< the last one that there was */
};

/** Opaque: the series of one log. */
struct rh_page_metrics;

/** @param most points of a series, at least 2. @return owned by the caller; NULL: out of memory */
struct rh_page_metrics *rh_page_metrics_new(size_t most) __attribute__((warn_unused_result));
/** Free @p metrics. NULL is ignored. */
void rh_page_metrics_free(struct rh_page_metrics *metrics);
RH_DEFINE_CLEANUP(page_metrics);
/**
 * Take one line.
 * @param text any bytes, without a newline; what stands behind its first 4 KiB is not looked at
 * @param at its time, in the caller's unit; RH_PAGE_METRIC_NO_TIME
 */
void rh_page_metrics_line(struct rh_page_metrics *metrics, const char *text, size_t length, int64_t at);
/**
 * @return the series number @p index that is worth showing, borrowed; NULL: there are no more. A name that is not known
 * counts if it has three points that differ.
 */
const struct rh_page_metric *rh_page_metrics_item(const struct rh_page_metrics *metrics, size_t index);

#endif
