/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "comm/bench/measure.h"
#include "comm/bench/options.h"
#include "comm/bench/print.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"
#include "comm/bench/run.h"

/* An operation may take as long as the whole run, and a minute more. */
#define PATIENCE INT64_C(60000000)

struct rank {
	const struct rh_bench_options *options;
	struct rh_comm *comm;
	struct rh_bench_result result;
	struct rh_bench_verdict verdict;
	struct rh_comm_error err;
};

static int rank_status(int32_t code)
{
	switch (code) {
	case RH_COMM_EINVAL:
	case RH_COMM_ENOMEM:
	case RH_COMM_ENOTSUP:
		return RH_BENCH_CONFIGURATION;
	default:
		return RH_BENCH_UNREACHABLE;
	}
}

static int32_t rank_join(struct rank *rank, double *ret_ready)
{
	const struct rh_bench_options *options = rank->options;
	struct rh_comm_options whole = {
		.size = sizeof(whole),
		.backend = options->backend,
		.init_timeout = options->timeout,
		.op_timeout = options->timeout ? options->timeout : options->time + PATIENCE,
	};
	double start = rh_bench_now();
	int32_t r = rh_comm_init(&whole, &rank->comm, &rank->err);

	*ret_ready = (rh_bench_now() - start) / 1e3;
	return r;
}

static int32_t rank_measure(struct rank *rank, double ready)
{
	const struct rh_bench_options *options = rank->options;
	struct rh_bench_result *result = &rank->result;
	bool alone = rh_comm_world(rank->comm) == 1;
	int32_t r = rh_bench_result_init(result, rh_comm_world(rank->comm));

	(void)snprintf(result->backend, sizeof(result->backend), "%s", rh_comm_backend_name(rank->comm));
	if (r == 0)
		r = rh_bench_ranks(rank->comm, ready, result, &rank->err);
	if (r == 0 && options->parts & RH_BENCH_PAIRS)
		r = rh_bench_pairs(rank->comm, options, result, &rank->err);
	if (r == 0 && options->parts & RH_BENCH_PAIRS)
		r = rh_bench_pairs_again(rank->comm, options, result, &rank->err);
	if (r == 0 && options->parts & RH_BENCH_ALL_REDUCE && !alone)
		r = rh_bench_all_reduce(rank->comm, options, result, &rank->err);
	if (r == 0 && options->parts & RH_BENCH_PUSH_PULL)
		r = rh_bench_push_pull(rank->comm, options, result, &rank->err);
	return r == 0 ? rh_bench_find_slow(result, options, &rank->verdict) : r;
}

static int rank_print_error(const char *what, const char *name)
{
	(void)fprintf(stderr, "roundhouse comm: %s%s: %s\n", what, name, strerror(errno));
	return RH_BENCH_CONFIGURATION;
}

/* @return whether everything was written */
static bool rank_draw(const struct rank *rank)
{
	FILE *out = fopen(rank->options->svg, "we");
	bool failed;

	if (!out)
		return false;
	rh_bench_print_svg(&rank->result, &rank->verdict, out);
	failed = ferror(out) != 0;
	return fclose(out) == 0 && !failed;
}

static int rank_print(const struct rank *rank)
{
	if (rank->options->json)
		rh_bench_print_json(&rank->result, rank->options, &rank->verdict, stdout);
	else
		rh_bench_print_text(&rank->result, rank->options, &rank->verdict, stdout);
	if (fflush(stdout) != 0 || ferror(stdout))
		return rank_print_error("cannot write the result", "");
	if (rank->options->svg && !rank_draw(rank))
		return rank_print_error("cannot write ", rank->options->svg);
	return rank->verdict.count ? RH_BENCH_SLOW : RH_BENCH_FINE;
}

/* Whoever leads prints the JSON of a failure: rank 0, as far as it knows that it is. */
static int rank_fail(struct rank *rank, int32_t code, bool quiet)
{
	int status = rank_status(code);

	if (rank->err.code == 0) {
		rank->err.code = code;
		rank->err.rank = RH_COMM_NO_RANK;
		(void)snprintf(rank->err.text, sizeof(rank->err.text), "%s", rh_comm_status_text(code));
	}
	if (quiet)
		return status;
	if (rank->options->json && (!rank->comm || rh_comm_rank(rank->comm) == 0))
		rh_bench_print_json_error(&rank->err, status, stdout);
	(void)fprintf(stderr, "roundhouse comm: %s%s\n", rank->err.text,
	              !rank->comm && code == RH_COMM_EINVAL && rank->options->local == 0
	                  ? "; or, on this machine alone, say --local N"
	                  : "");
	return status;
}

int rh_bench_rank(const struct rh_bench_options *options, bool quiet)
{
	struct rank rank = {.options = options};
	double ready = 0;
	int32_t r = rank_join(&rank, &ready);
	int status;

	if (r == 0)
		r = rank_measure(&rank, ready);
	if (r < 0)
		status = rank_fail(&rank, r, quiet);
	else if (rh_comm_rank(rank.comm) == 0)
		status = rank_print(&rank);
	else
		status = rank.verdict.count ? RH_BENCH_SLOW : RH_BENCH_FINE;
	rh_comm_free(rank.comm);
	rh_bench_result_deinit(&rank.result);
	rh_bench_verdict_deinit(&rank.verdict);
	(void)fflush(stdout);
	return status;
}
