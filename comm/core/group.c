/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/group.h"

#include <stdio.h>

/* Most ranks of a group in one sentence. */
#define TEXT_RANKS 8

const char *rh_comm_group_text(const struct rh_comm *comm, char *text, size_t room)
{
	int length = snprintf(text, room, "%s", comm->is_group ? " of the group of ranks" : "");

	for (int32_t i = 0; comm->is_group && i < comm->size && i < TEXT_RANKS && (size_t)length < room; i++)
		length += snprintf(text + length, room - (size_t)length, "%s %d", i > 0 ? "," : "", (int)comm->ranks[i]);
	if (comm->is_group && comm->size > TEXT_RANKS && (size_t)length < room)
		(void)snprintf(text + length, room - (size_t)length, " and %d more", (int)comm->size - TEXT_RANKS);
	return text;
}
