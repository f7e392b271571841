/* SPDX-License-Identifier: Apache-2.0 */
#include "config/gang.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

/* The name that the manifests of scheduler-plugins give their scheduler. */
#define GANG_PLUGINS_SCHEDULER "scheduler-plugins-scheduler"
#define GANG_PLUGINS "scheduler-plugins"

static int gang_set(struct rh_gang *gang, enum rh_gang_kind kind, const char *scheduler, struct rh_error *err)
{
	if (!rh_name_is_dns1123(scheduler))
		return rh_fail(err, RH_EINVAL,
		               "gang scheduler: \"%s\" is not a name of a scheduler; use small letters, digits, - and .",
		               scheduler);
	*gang = (struct rh_gang){.kind = kind};
	rh_copy(gang->scheduler, sizeof(gang->scheduler), scheduler);
	return 0;
}

int rh_gang_parse(const char *text, struct rh_gang *ret_gang, struct rh_error *err)
{
	if (strcmp(text, "none") == 0) {
		*ret_gang = (struct rh_gang){.kind = RH_GANG_NONE};
		return 0;
	}
	if (strcmp(text, "volcano") == 0)
		return gang_set(ret_gang, RH_GANG_VOLCANO, "volcano", err);
	if (strcmp(text, GANG_PLUGINS) == 0)
		return gang_set(ret_gang, RH_GANG_SCHEDULER_PLUGINS, GANG_PLUGINS_SCHEDULER, err);
	if (rh_starts_with(text, GANG_PLUGINS ":"))
		return gang_set(ret_gang, RH_GANG_SCHEDULER_PLUGINS, text + strlen(GANG_PLUGINS ":"), err);
	return rh_fail(err, RH_EINVAL,
	               "gang scheduler \"%s\" is not known; write none, volcano, " GANG_PLUGINS " or " GANG_PLUGINS ":NAME",
	               text);
}

int rh_gang_parse_flag(const char *text, struct rh_gang *ret_gang, struct rh_error *err)
{
	if (!*text || strcmp(text, "None") == 0)
		return rh_gang_parse("none", ret_gang, err);
	if (strcasecmp(text, "volcano") == 0)
		return rh_gang_parse("volcano", ret_gang, err);
	return gang_set(ret_gang, RH_GANG_SCHEDULER_PLUGINS, text, err);
}

bool rh_gang_is_on(const struct rh_gang *gang)
{
	return gang && gang->kind != RH_GANG_NONE;
}

const char *rh_gang_api_version(const struct rh_gang *gang)
{
	if (!rh_gang_is_on(gang))
		return NULL;
	return gang->kind == RH_GANG_VOLCANO ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1";
}

bool rh_gang_queues(const struct rh_gang *gang)
{
	return rh_gang_is_on(gang) && gang->kind == RH_GANG_VOLCANO;
}
