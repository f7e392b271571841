/* SPDX-License-Identifier: Apache-2.0 */
#include "job/evidence/written.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "job/evidence/evidence.h"

/* Most bytes that are kept of one output; as many as a termination message has. */
#define WRITTEN_MAX 2048

void rh_written_free(struct rh_written *list)
{
	while (list) {
		struct rh_written *next = list->next;

		rh_free(list->container);
		rh_free(list->text);
		rh_free(list);
		list = next;
	}
}

int rh_written_add(struct rh_written **list, const struct rh_unread *of, const char *text)
{
	const struct rh_end end = {.exit_code = of->exit_code, .reason = "", .output = text};
	struct rh_written *written = rh_alloc(sizeof(*written));
	rh_auto_str kept = {0};

	if (!written)
		return RH_ENOMEM;
	rh_evidence_excerpt(&end, WRITTEN_MAX, &kept);
	written->container = rh_strdup(of->container);
	written->text = rh_str_take(&kept);
	written->ended_at = of->ended_at;
	if (!written->container || !written->text) {
		rh_written_free(written);
		return RH_ENOMEM;
	}
	written->next = *list;
	*list = written;
	return 0;
}

const char *rh_written_find(const struct rh_written *list, const char *container, int64_t ended_at)
{
	while (list && (list->ended_at != ended_at || strcmp(list->container, container) != 0))
		list = list->next;
	return list ? list->text : NULL;
}
