/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/group.h
 * @brief Names of groups in messages.
 */
#ifndef RH_COMM_CORE_GROUP_H
#define RH_COMM_CORE_GROUP_H

#include "comm/core/context.h"

/** " of the group of ranks 1, 3" for people, of long lists the begin. @return @p text */
const char *rh_comm_ranks_text(const int32_t *ranks, int32_t count, char *text, size_t room);
/** rh_comm_ranks_text() of a group; of the world "". @return @p text */
const char *rh_comm_group_text(const struct rh_comm *comm, char *text, size_t room);

#endif
