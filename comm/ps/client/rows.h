/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/client/rows.h
 * @brief Rows of a value: how it is cut between them, what a request names, and how repeated rows are summed.
 */
#ifndef RH_COMM_PS_CLIENT_ROWS_H
#define RH_COMM_PS_CLIENT_ROWS_H

#include "comm/ps/client/client.h"

/** @return whether an operation names rows: RH_PS_PUSH_ROWS … */
bool rh_ps_op_has_rows(const struct rh_ps_op *op);
/** @return bytes of each part of the value of an operation but the last; 0: a row does not fit a part */
size_t rh_ps_op_step(const struct rh_ps *ps, const struct rh_ps_op *op);
/** Check width and rows of an operation whose count and type are checked. @return 0 or RH_COMM_EINVAL */
int32_t rh_ps_op_check_rows(const struct rh_ps *ps, const struct rh_ps_op *op, struct rh_comm_error *err);
/** @return the server of a part of the value of a key */
struct rh_ps_link *rh_ps_part_link(struct rh_ps *ps, uint64_t key, uint32_t number);
/**
 * Cut an operation that names rows. A push goes to all parts where servers count pushes, for it counts as the worker's
 * push of the key; a pull, and an asynchronous push, go to those with rows alone.
 * @param pattern what all parts share. @param parts NULL: they are only counted. @return how many there are
 */
size_t rh_ps_op_cut_rows(struct rh_ps *ps, const struct rh_ps_op *op, const struct rh_ps_part *pattern,
                         struct rh_ps_part *parts);
/** @return bytes of the payload of the request for a part that names rows */
size_t rh_ps_part_rows_length(const struct rh_ps_part *part);
/** Write it; the elements of a row that is named more than once are summed. @param[out] ret_payload so many bytes */
void rh_ps_part_put_rows(const struct rh_ps_part *part, uint8_t *ret_payload);
/** Take the elements that were pulled. @param payload part->rows rows */
void rh_ps_part_get_rows(const struct rh_ps_part *part, const uint8_t *payload);

#endif
