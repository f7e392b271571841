/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/engine_state.h"

int rh_engine_submit(struct rh_engine *engine, struct rh_request *request, rh_done_fn *done, void *arg,
                     uint64_t *ret_id)
{
	struct rh_store *store = engine->options.store;
	int r = store->submit(store, request, done, arg, ret_id, NULL);

	if (r == 0)
		engine->requests++;
	return r;
}

void rh_engine_cancel(struct rh_engine *engine, uint64_t id)
{
	struct rh_store *store = engine->options.store;

	store->cancel(store, id);
	engine->requests--;
}
