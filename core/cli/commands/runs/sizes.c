/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/runs/sizes.h"

#include <stdio.h>

const char *rh_size_format(int64_t bytes, char buffer[RH_SIZE_SIZE])
{
	static const char units[] = "KMGTP";
	double value = (double)bytes / 1024;
	size_t unit = 0;

	while (value >= 1000 && unit + 2 < sizeof(units)) {
		value /= 1024;
		unit++;
	}
	if (bytes < 1024)
		(void)snprintf(buffer, RH_SIZE_SIZE, "%lld", (long long)bytes);
	else
		(void)snprintf(buffer, RH_SIZE_SIZE, "%.*f%c", value < 10 ? 1 : 0, value, units[unit]);
	return buffer;
}

static void running_keep(struct rh_kept_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].life == RH_KEPT_RUNNING)
			list->items[count++] = list->items[i];
		else
			rh_kept_deinit(&list->items[i]);
	}
	list->count = count;
}

int rh_running_find(const struct rh_cli *cli, struct rh_kept_list *ret_list, struct rh_error *err)
{
	int r;

	*ret_list = (struct rh_kept_list){NULL, 0};
	if (cli->operand_count == 0) {
		r = rh_kept_list(ret_list, err);
		running_keep(ret_list);
		return r;
	}
	ret_list->items = rh_alloc(sizeof(*ret_list->items));
	if (!ret_list->items)
		return rh_fail_oom(err);
	r = rh_kept_find(cli->operands[0], true, ret_list->items, err);
	if (r < 0)
		return r;
	ret_list->count = 1;
	if (ret_list->items[0].life == RH_KEPT_RUNNING)
		return 0;
	return rh_fail(err, RH_ENOENT, "run \"%s\" does not go on; it is %s", ret_list->items[0].name,
	               rh_kept_state(&ret_list->items[0]));
}
