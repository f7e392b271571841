/* SPDX-License-Identifier: Apache-2.0 */
/* follow [pages]: watch the pods with the label "app" on the server of $KUBECONFIG, and print the events. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "kube/real.h"

static void on_watch(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "SYNCED"};
	const char *name = object ? rh_json_string_at(object, "metadata.name") : "";
	const char *version = object ? rh_json_string_at(object, "metadata.resourceVersion") : "";
	const char *uid = object ? rh_json_string_at(object, "metadata.uid") : "";

	(void)arg;
	printf("%s %s %s %s\n", names[event], name, uid, version ? version : "");
}

static void on_problem(void *arg, const struct rh_kube_problem *problem)
{
	(void)arg;
	printf("PROBLEM %s %s %d %s\n", problem->verb, problem->resource, (int)problem->status, problem->message);
}

static void on_call(void *arg, const struct rh_kube_call *call)
{
	(void)arg;
	printf("CALL %s %s %d\n", call->verb, call->resource, (int)call->status);
}

static bool go_on(void *arg)
{
	(void)arg;
	return true;
}

int main(int argc, char **argv)
{
	struct rh_kube_store_options options = {
		.problem = on_problem, .observe = on_call, .pages = argc > 1 && strcmp(argv[1], "pages") == 0};
	struct real real = {.turn = go_on};
	struct rh_store *face;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	real_open(&real, &options);
	face = rh_kube_store_face(real.store);
	if (!face->watch(face, &rh_resource_pods, "app", on_watch, NULL))
		return 1;
	(void)real_run(&real, RH_NEVER);
	real_close(&real);
	return 0;
}
