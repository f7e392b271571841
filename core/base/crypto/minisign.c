/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crypto/minisign.h"

#include <stdbool.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/mem.h"
#include "base/str.h"

/* Bytes in front of a key or signature: what it is ("Ed" of keys, "ED" of signatures of a hash). */
#define MINISIGN_ALGORITHM_SIZE 2
#define MINISIGN_UNTRUSTED "untrusted comment: "
#define MINISIGN_TRUSTED "trusted comment: "

/* Lines of a signature file. */
struct minisign_lines {
	const char *at[4];
	size_t length[4];
};

/* One signature file, decoded. */
struct minisign {
	uint8_t algorithm[MINISIGN_ALGORITHM_SIZE];
	uint8_t id[RH_MINISIGN_ID_SIZE];
	uint8_t signature[RH_ED25519_SIGNATURE_SIZE];
	uint8_t comment_signature[RH_ED25519_SIGNATURE_SIZE]; /* of signature and trusted comment together */
	const char *comment;                                  /* borrowed from the text */
	size_t comment_length;
};

/* Decode exactly @p size bytes. */
static bool minisign_decode(const char *text, size_t length, void *to, size_t size)
{
	rh_auto_free char *line = rh_strndup(text, length);
	rh_auto_free char *bytes = rh_alloc_array(rh_base64_room(length), 1);
	size_t got = 0;

	if (!line || !bytes || !rh_base64_decode(line, bytes, &got) || got != size)
		return false;
	memcpy(to, bytes, size);
	return true;
}

int rh_minisign_key_parse(const char *text, struct rh_minisign_key *ret_key)
{
	uint8_t bytes[MINISIGN_ALGORITHM_SIZE + RH_MINISIGN_ID_SIZE + RH_ED25519_KEY_SIZE];

	if (!minisign_decode(text, strlen(text), bytes, sizeof(bytes)) || memcmp(bytes, "Ed", MINISIGN_ALGORITHM_SIZE) != 0)
		return RH_EINVAL;
	memcpy(ret_key->id, bytes + MINISIGN_ALGORITHM_SIZE, sizeof(ret_key->id));
	memcpy(ret_key->key, bytes + MINISIGN_ALGORITHM_SIZE + RH_MINISIGN_ID_SIZE, sizeof(ret_key->key));
	return 0;
}

static bool minisign_split(const char *text, struct minisign_lines *lines)
{
	for (size_t i = 0; i < 4; i++) {
		size_t length = strcspn(text, "\n");

		lines->at[i] = text;
		lines->length[i] = length > 0 && text[length - 1] == '\r' ? length - 1 : length;
		text += length;
		if (*text)
			text++;
		else if (i < 3)
			return false;
	}
	return !*text && rh_starts_with(lines->at[0], MINISIGN_UNTRUSTED) && rh_starts_with(lines->at[2], MINISIGN_TRUSTED);
}

static bool minisign_parse(const char *text, struct minisign *ret_signature)
{
	uint8_t bytes[MINISIGN_ALGORITHM_SIZE + RH_MINISIGN_ID_SIZE + RH_ED25519_SIGNATURE_SIZE];
	struct minisign_lines lines;

	if (!minisign_split(text, &lines) || !minisign_decode(lines.at[1], lines.length[1], bytes, sizeof(bytes)) ||
	    !minisign_decode(lines.at[3], lines.length[3], ret_signature->comment_signature,
	                     sizeof(ret_signature->comment_signature)))
		return false;
	memcpy(ret_signature->algorithm, bytes, sizeof(ret_signature->algorithm));
	memcpy(ret_signature->id, bytes + MINISIGN_ALGORITHM_SIZE, sizeof(ret_signature->id));
	memcpy(ret_signature->signature, bytes + MINISIGN_ALGORITHM_SIZE + RH_MINISIGN_ID_SIZE,
	       sizeof(ret_signature->signature));
	ret_signature->comment = lines.at[2] + strlen(MINISIGN_TRUSTED);
	ret_signature->comment_length = lines.length[2] - strlen(MINISIGN_TRUSTED);
	return true;
}

static int minisign_check_comment(const struct rh_minisign_key *key, const struct minisign *signature,
                                  struct rh_error *err)
{
	rh_auto_str signed_bytes = {0};

	rh_str_append_bytes(&signed_bytes, (const char *)signature->signature, sizeof(signature->signature));
	rh_str_append_bytes(&signed_bytes, signature->comment, signature->comment_length);
	if (signed_bytes.failed)
		return rh_fail_oom(err);
	return rh_crypto_verify(key->key, signed_bytes.data, signed_bytes.length, signature->comment_signature, err);
}

int rh_minisign_verify(const struct rh_minisign_key *key, int fd, const char *text, struct rh_error *err)
{
	struct minisign signature;
	uint8_t hash[RH_BLAKE2B_SIZE];
	int r;

	if (!minisign_parse(text, &signature))
		return rh_fail(err, RH_EINVAL, "it is not a signature of minisign; sign the file with minisign -Sm FILE");
	if (memcmp(signature.algorithm, "ED", sizeof(signature.algorithm)) != 0)
		return rh_fail(err, RH_EINVAL,
		               "it is a signature in the old format; sign the file with minisign 0.10 or newer, "
		               "without -l");
	if (memcmp(signature.id, key->id, sizeof(key->id)) != 0)
		return rh_fail(err, RH_EINVAL, "another key made it; sign the file with the configured one");
	r = rh_crypto_blake2b(fd, hash, err);
	if (r == 0)
		r = rh_crypto_verify(key->key, hash, sizeof(hash), signature.signature, err);
	if (r == 0)
		return rh_fail(err, RH_EINVAL, "the file has changed since it was signed; sign it again, or restore it");
	if (r == 1)
		r = minisign_check_comment(key, &signature, err);
	if (r == 0)
		return rh_fail(err, RH_EINVAL, "its trusted comment has changed; sign the file again");
	return r < 0 ? r : 0;
}
