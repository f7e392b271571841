/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/real.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/os/clock.h"

static int64_t real_turn(void *arg)
{
	struct real *real = arg;
	int64_t now = rh_clock_monotonic();
	int64_t due, other;

	rh_http_step(real->http, now);
	rh_kube_store_step(real->store, now);
	if (now >= real->end || !real->turn(real->arg))
		rh_loop_stop(real->loop);
	due = rh_kube_store_deadline(real->store);
	other = rh_http_deadline(real->http);
	due = other < due ? other : due;
	due = real->end < due ? real->end : due;
	return due == RH_NEVER ? RH_NEVER : due > now ? due - now : 0;
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
	struct rh_error err = {0};

	real_check(rh_loop_new(real_turn, real, &real->loop, &err), &err);
	real_check(rh_kubeconfig_load(&where, &real->config, &err), &err);
	client.loop = real->loop;
	client.config = real->config;
	real_check(rh_http_new(&client, &real->http, &err), &err);
	all.http = real->http;
	real_check(rh_kube_store_new(&all, &real->store, &err), &err);
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
