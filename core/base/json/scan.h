/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/json/scan.h
 * @brief The check of a JSON text before cJSON parses it; for core/base/json*.c alone.
 *
 * cJSON does not explain what is wrong in a text, and accepts some wrong texts: control characters, bytes that are not
 * UTF-8, numbers such as 01 or 1e999, anything after the document. So it parses only what has passed this check, which
 * names the place of a mistake and counts what the tree takes.
 */
#ifndef RH_BASE_JSON_SCAN_H
#define RH_BASE_JSON_SCAN_H

#include "base/error.h"
#include "base/json/room.h"

/** A check, and what it found. The fields up to err are the caller's. */
struct rh_json_scan {
	const char *text;         /**< borrowed; positions count from its start */
	size_t at;                /**< first byte of the document; then the position of the check */
	size_t end;               /**< first byte after the document */
	size_t values;            /**< most values that it may hold; then how many are left */
	bool lenient;             /**< as rh_json_parse_lenient() */
	bool secret;              /**< messages quote nothing of the text */
	struct rh_error *err;     /**< what is wrong; may be NULL */
	size_t start;             /**< first byte after a byte order mark */
	struct rh_json_need need; /**< what the tree takes */
	size_t longest_number;    /**< that cJSON reads, bytes */
	size_t odd_numbers;       /**< numbers that cJSON may not keep as they are */
	bool deep;                /**< something beyond RH_JSON_DEPTH_MAX was passed over, and is empty in the copy */
	char *copy; /**< of the document, without what cJSON cannot read, at the same offsets; NULL: not needed */
	int depth;  /**< nesting depth at the position of the check */
};

/** Check the document. Free with rh_json_scan_deinit() in any case. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_json_scan(struct rh_json_scan *scan);
/** Free what the check holds. */
void rh_json_scan_deinit(struct rh_json_scan *scan);
/** @return the document as cJSON can read it, its first byte at scan->start; borrowed */
const char *rh_json_scan_readable(const struct rh_json_scan *scan);
/** Fail at byte @p offset of the text. @return RH_EINVAL */
int rh_json_scan_fail(struct rh_json_scan *scan, size_t offset, const char *what);

/** @return bytes of the string at @p text, both quotes included; the text has passed the check */
size_t rh_json_scan_string(const char *text);
/** @return bytes of the number at @p text, which ends before @p length; 0 when it is not well formed */
size_t rh_json_scan_number(const char *text, size_t length);

/** A local that is freed when it goes out of scope. */
#define rh_auto_json_scan __attribute__((cleanup(rh_json_scan_deinit))) struct rh_json_scan

#endif
