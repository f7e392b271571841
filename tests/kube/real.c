/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/real.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/os/clock.h"

enum { REAL_HTTP, REAL_STORE };

static void real_step(void *arg, int64_t now)
{
	struct real *real = arg;

	rh_kube_store_step(real->store, now);
	if (now >= real->end || !real->turn(real->arg))
		rh_loop_stop(real->loop);
}

static int64_t real_deadline(void *arg)
{
	const struct real *real = arg;
	int64_t due = rh_kube_store_deadline(real->store);

	return real->end < due ? real->end : due;
}

static void real_check(int r, const struct rh_error *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

void real_open(struct real *real, const struct rh_kube_store_options *options)
{
	struct rh_kubeconfig_options where = {0};
	struct rh_kube_store_options all = *options;
	struct rh_http_options client = {0};
	const struct rh_loop_source store = {real_step, real_deadline, real, REAL_STORE};
	struct rh_loop_source http;
	struct rh_error err = {0};

	real_check(rh_loop_new(&real->loop, &err), &err);
	real_check(rh_kubeconfig_load(&where, &real->config, &err), &err);
	client.loop = real->loop;
	client.config = real->config;
	real_check(rh_http_new(&client, &real->http, &err), &err);
	all.http = real->http;
	real_check(rh_kube_store_new(&all, &real->store, &err), &err);
	http = rh_http_source(real->http, REAL_HTTP);
	real_check(rh_loop_add(real->loop, &http, NULL, &err), &err);
	real_check(rh_loop_add(real->loop, &store, NULL, &err), &err);
}

void real_close(struct real *real)
{
	rh_kube_store_free(real->store);
	rh_http_free(real->http);
	rh_kubeconfig_free(real->config);
	rh_loop_free(real->loop);
}

bool real_run(struct real *real, int64_t patience)
{
	real->end = patience == RH_NEVER ? RH_NEVER : rh_clock_monotonic() + patience;
	rh_loop_run(real->loop);
	return rh_clock_monotonic() < real->end;
}
