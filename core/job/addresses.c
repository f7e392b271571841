/* SPDX-License-Identifier: Apache-2.0 */
#include "job/addresses.h"

#include <stdlib.h>
#include <string.h>

void rh_addresses_deinit(struct rh_addresses *addresses)
{
	rh_free(addresses->items);
	*addresses = (struct rh_addresses){0};
}

struct addresses_key {
	const char *type;
	int32_t index;
};

static int addresses_compare(const void *key, const void *item)
{
	const struct addresses_key *target = key;
	const struct rh_address *address = item;
	int order = strcmp(target->type, address->type);

	if (order != 0)
		return order;
	return (target->index > address->index) - (target->index < address->index);
}

const struct rh_address *rh_addresses_find(const struct rh_addresses *addresses, const char *type, int32_t index)
{
	struct addresses_key key = {type, index};

	if (addresses->count == 0)
		return NULL;
	return bsearch(&key, addresses->items, addresses->count, sizeof(*addresses->items), addresses_compare);
}
