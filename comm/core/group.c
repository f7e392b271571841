/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/group.h"

#include <stdio.h>

/* Most ranks of a group in one sentence. */
#define TEXT_RANKS 8

const char *rh_comm_ranks_text(const int32_t *ranks, int32_t count, char *text, size_t room)
{
	int length = snprintf(text, room, " of the group of ranks");

	for (int32_t i = 0; i < count && i < TEXT_RANKS && (size_t)length < room; i++)
		length += snprintf(text + length, room - (size_t)length, "%s %d", i > 0 ? "," : "", (int)ranks[i]);
	if (count > TEXT_RANKS && (size_t)length < room)
		(void)snprintf(text + length, room - (size_t)length, " and %d more", (int)count - TEXT_RANKS);
	return text;
}

const char *rh_comm_group_text(const struct rh_comm *comm, char *text, size_t room)
{
	if (comm->is_group)
		return rh_comm_ranks_text(comm->ranks, comm->size, text, room);
	text[0] = '\0';
	return text;
}
