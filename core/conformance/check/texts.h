/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/check/texts.h
 * @brief Whether what a plugin wrote is UTF-8.
 */
#ifndef RH_CONFORMANCE_CHECK_TEXTS_H
#define RH_CONFORMANCE_CHECK_TEXTS_H

#include "base/json.h"
#include "conformance/board.h"

/** Check a text; @p what names it in a finding. NULL is ignored. */
void rh_check_text(struct rh_board *board, const char *what, const char *text);
/** Check each text and key of @p json. */
void rh_check_texts(struct rh_board *board, const char *what, const struct rh_json *json);

#endif
