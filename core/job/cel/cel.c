/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/cel.h"

#include "base/mem.h"
#include "job/cel/ast.h"
#include "job/cel/check.h"
#include "job/cel/eval.h"

/* Memory that one expression may take while it is compiled. */
#define CEL_ROOM_MAX (4u << 20)

struct rh_cel {
	struct rh_cel_room room;
	struct rh_cel_node *node;
	const struct rh_json *schema, *definitions;
	bool transition;
};

int rh_cel_compile(const char *text, const struct rh_cel_setting *setting, struct rh_cel **ret_cel,
                   struct rh_error *err)
{
	rh_auto(cel) cel = rh_alloc(sizeof(*cel));
	struct rh_cel_scope scope = {
		.text = text,
		.schema = setting->schema,
		.definitions = setting->definitions,
		.optional_old = setting->optional_old,
		.err = err,
	};
	int r;

	if (!cel)
		return rh_fail_oom(err);
	cel->room.limit = CEL_ROOM_MAX;
	cel->schema = setting->schema;
	cel->definitions = setting->definitions;
	scope.room = &cel->room;
	r = rh_cel_parse(text, &cel->room, &cel->node, err);
	if (r == 0)
		r = rh_cel_check(&scope, cel->node, setting->result_kind);
	if (r < 0)
		return r;
	cel->transition = scope.uses_old && !setting->optional_old;
	*ret_cel = rh_take(cel);
	return 0;
}

void rh_cel_free(struct rh_cel *cel)
{
	if (!cel)
		return;
	rh_cel_room_deinit(&cel->room);
	rh_free(cel);
}

bool rh_cel_is_transition(const struct rh_cel *cel)
{
	return cel->transition;
}

struct rh_cel_value rh_cel_run(const struct rh_cel *cel, const struct rh_json *self, struct rh_cel_room *room)
{
	struct rh_cel_input input = {.room = room};

	room->definitions = cel->definitions;
	input.self = rh_cel_of_json(room, self, cel->schema);
	input.old_self = rh_cel_optional(room, NULL);
	return rh_cel_eval(&input, cel->node);
}
