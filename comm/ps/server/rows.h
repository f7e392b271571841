/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/rows.h
 * @brief Rows of an entry: what a request may name, what a push adds to a round, and the steps of the rows it touches.
 *
 * Indices of rows are those within the entry, 32 bits each, ascending, each once. Nothing here is trusted before
 * rh_ps_rows_check().
 */
#ifndef RH_COMM_PS_SERVER_ROWS_H
#define RH_COMM_PS_SERVER_ROWS_H

#include "comm/ps/server/store.h"

/** @return an array of @p bytes zeros, aligned to RH_PS_ALIGN, owned by the caller; NULL: out of memory */
uint8_t *rh_ps_rows_array(size_t bytes);
/** @return rows of an entry; 0: it has none */
uint32_t rh_ps_rows_count(const struct rh_ps_entry *entry);
/** @return 64-bit words of the bits of a round, one bit for each row */
size_t rh_ps_rows_words(const struct rh_ps_entry *entry);
/** @return bytes of a row */
size_t rh_ps_rows_size(const struct rh_ps_entry *entry);
/** Check the width that a request gives to a value of head->bytes. @return 0 or RH_COMM_EINVAL */
int32_t rh_ps_rows_check_width(const struct rh_ps_head *head, struct rh_comm_error *err);
/**
 * Check the rows of a request whose width is that of its entry.
 * @param payload head->length bytes. @return 0; RH_COMM_EINVAL: too many, out of range, not ascending, or another
 * length than so many rows have
 */
int32_t rh_ps_rows_check(const struct rh_ps_head *head, const uint8_t *payload, struct rh_comm_error *err);
/** Copy the elements of @p count rows. @param index their indices. @param[out] ret_data rh_ps_rows_size() for each */
void rh_ps_rows_get(const struct rh_ps_entry *entry, const uint8_t *index, uint32_t count, uint8_t *ret_data);
/**
 * Add a push, of rows or of the whole value, to the sum of a round.
 * @return 0; RH_COMM_ENOMEM: nothing was changed
 */
int32_t rh_ps_rows_add(const struct rh_ps_entry *entry, struct rh_ps_round *round, const struct rh_ps_head *head,
                       const uint8_t *payload);
/** Change the value by one push of rows, or of the whole value. @param pattern data, first, count, steps are set here
 */
void rh_ps_rows_apply_push(const struct rh_ps_change *pattern, const struct rh_ps_head *head, const uint8_t *payload);
/** Change the value by the rows that a round has touched. @param pattern as above */
void rh_ps_rows_apply_round(const struct rh_ps_change *pattern, const struct rh_ps_round *round);
/**
 * Find the next rows that a round has touched, one after another.
 * @param[in,out] at where to look; then the first of them. @return how many; 0: no more
 */
uint32_t rh_ps_rows_next(const struct rh_ps_entry *entry, const struct rh_ps_round *round, uint32_t *at);
/**
 * Make room for the sum of a round whose bits were read.
 * @return 0; RH_COMM_EINVAL: a bit is of no row; RH_COMM_ENOMEM
 */
int32_t rh_ps_rows_open(const struct rh_ps_entry *entry, struct rh_ps_round *round);

#endif
