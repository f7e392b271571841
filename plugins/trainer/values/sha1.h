/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trainer/values/sha1.h
 * @brief SHA-1, of which the label job-key of JobSet is one.
 */
#ifndef RH_TRAINER_VALUES_SHA1_H
#define RH_TRAINER_VALUES_SHA1_H

/** Bytes of a sum as text, with the final zero. */
#define SHA1_TEXT 41

/** Print the SHA-1 of a text in hexadecimal. */
void sha1_print(const char *text, char ret_hex[SHA1_TEXT]);

#endif
