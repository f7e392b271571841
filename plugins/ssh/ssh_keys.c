/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of ssh, one pair for each job: ECDSA on P-521. The host makes the numbers; here they get the form of ssh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ssh_keys.h"

#define KEYS_TYPE "ecdsa-sha2-nistp521"
#define KEYS_CURVE "nistp521"
/** The private number, and an uncompressed point: 4, and two numbers. */
#define KEYS_NUMBER 66
#define KEYS_POINT (1 + 2 * KEYS_NUMBER)
/** Characters of base64 for that many bytes, with the final zero. */
#define KEYS_BASE64(size) (((size) + 2) / 3 * 4 + 1)
/** Characters of a line of PEM. */
#define KEYS_LINE 64
/** Room for the private key as text, in one piece: what grows leaves copies. */
#define KEYS_TEXT 512

_Static_assert(KEYS_NUMBER + KEYS_POINT == RH_PAIR_BYTES, "a pair is a number and a point");

/** RFC 5915, 3: ECPrivateKey in DER. The lengths are those of P-521; number and point stand in between. */
static const uint8_t keys_before_number[] = {0x30, 0x81, 0xdc, 0x02, 0x01, 0x01, 0x04, KEYS_NUMBER};
static const uint8_t keys_before_point[] = {0xa0, 0x07, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00,
                                            0x23, 0xa1, 0x81, 0x89, 0x03, 0x81, 0x86, 0x00};

/** Bytes that are put together. */
struct keys_bytes {
	uint8_t data[256];
	size_t size;
};

static void keys_add(struct keys_bytes *bytes, const void *data, size_t size)
{
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
}

/** Add a text with its length before it, as ssh has it (RFC 4251, 5). */
static void keys_add_text(struct keys_bytes *bytes, const void *text, uint8_t length)
{
	keys_add(bytes, (const uint8_t[]){0, 0, 0, length}, 4);
	keys_add(bytes, text, length);
}

/** Write base64 (RFC 4648, 4) into KEYS_BASE64(@p size) characters. */
static void keys_encode(const uint8_t *data, size_t size, char *ret_text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *at = ret_text;

	for (size_t i = 0; i < size; i += 3) {
		uint32_t three = (uint32_t)data[i] << 16 | (i + 1 < size ? (uint32_t)data[i + 1] << 8 : 0) |
		                 (i + 2 < size ? data[i + 2] : 0);

		*at++ = letters[three >> 18];
		*at++ = letters[three >> 12 & 63];
		*at++ = i + 1 < size ? letters[three >> 6 & 63] : '=';
		*at++ = i + 2 < size ? letters[three & 63] : '=';
	}
	*at = '\0';
}

void ssh_keys_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

/** @return the private key as ssh reads it, owned by the caller; NULL when memory is out */
static char *keys_print_private(const uint8_t *pair)
{
	struct keys_bytes der = {.size = 0};
	char base64[KEYS_BASE64(sizeof(der.data))];
	char *text = malloc(KEYS_TEXT);
	int length = 0;

	keys_add(&der, keys_before_number, sizeof(keys_before_number));
	keys_add(&der, pair, KEYS_NUMBER);
	keys_add(&der, keys_before_point, sizeof(keys_before_point));
	keys_add(&der, pair + KEYS_NUMBER, KEYS_POINT);
	keys_encode(der.data, der.size, base64);
	if (text) {
		length = snprintf(text, KEYS_TEXT, "-----BEGIN EC PRIVATE KEY-----\n");
		for (const char *line = base64; *line; line += strnlen(line, KEYS_LINE))
			length += snprintf(text + length, (size_t)(KEYS_TEXT - length), "%.*s\n", KEYS_LINE, line);
		(void)snprintf(text + length, (size_t)(KEYS_TEXT - length), "-----END EC PRIVATE KEY-----\n");
	}
	explicit_bzero(&der, sizeof(der));
	explicit_bzero(base64, sizeof(base64));
	return text;
}

/** @return the line of the public key, owned by the caller; NULL when memory is out */
static char *keys_print_public(const uint8_t *pair)
{
	struct keys_bytes blob = {.size = 0};
	char base64[KEYS_BASE64(sizeof(blob.data))];
	char *line = NULL;

	keys_add_text(&blob, KEYS_TYPE, sizeof(KEYS_TYPE) - 1);
	keys_add_text(&blob, KEYS_CURVE, sizeof(KEYS_CURVE) - 1);
	keys_add_text(&blob, pair + KEYS_NUMBER, KEYS_POINT);
	keys_encode(blob.data, blob.size, base64);
	return asprintf(&line, KEYS_TYPE " %s\n", base64) < 0 ? NULL : line;
}

int32_t ssh_keys_print(const uint8_t *pair, uint32_t size, struct ssh_keys *ret_keys)
{
	*ret_keys = (struct ssh_keys){NULL, NULL};
	if (!pair || size != RH_PAIR_BYTES)
		return RH_EINVAL;
	ret_keys->private_key = keys_print_private(pair);
	ret_keys->public_key = keys_print_public(pair);
	if (ret_keys->private_key && ret_keys->public_key)
		return 0;
	ssh_keys_free(ret_keys);
	return RH_ENOMEM;
}

void ssh_keys_free(struct ssh_keys *keys)
{
	ssh_keys_wipe(keys->private_key);
	ssh_keys_wipe(keys->public_key);
	*keys = (struct ssh_keys){NULL, NULL};
}

char *ssh_keys_encode(const char *text)
{
	size_t size = strlen(text);
	char *base64 = malloc(KEYS_BASE64(size));

	if (base64)
		keys_encode((const uint8_t *)text, size, base64);
	return base64;
}

/** @return the Secret, owned by the caller; NULL when memory is out */
static char *keys_print_secret(const struct ssh_keys *keys, const char *name, const char *labels)
{
	char *private_key = ssh_keys_encode(keys->private_key);
	char *public_key = ssh_keys_encode(keys->public_key);
	char *json = NULL;

	if (!private_key || !public_key ||
	    asprintf(&json,
	             "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":%s%s%s},"
	             "\"type\":\"kubernetes.io/ssh-auth\",\"immutable\":true,"
	             "\"data\":{\"ssh-privatekey\":\"%s\",\"ssh-publickey\":\"%s\"}}",
	             name, labels ? ",\"labels\":" : "", labels ? labels : "", private_key, public_key) < 0)
		json = NULL;
	ssh_keys_wipe(private_key);
	ssh_keys_wipe(public_key);
	return json;
}

int32_t ssh_keys_make_secret(const struct rh_services *host, const struct rh_view *view, const struct rh_made *made,
                             const char *labels, struct rh_reply *reply)
{
	const char *name = host->quote(view, made->name);
	struct ssh_keys keys;
	char *json;
	int32_t r = ssh_keys_print(made->random, made->random_bytes, &keys);

	if (r < 0)
		return host->fail(reply, r, r == RH_ENOMEM ? "out of memory" : "these bytes are no pair of keys");
	json = name ? keys_print_secret(&keys, name, labels) : NULL;
	r = json ? host->object(reply, json) : host->fail(reply, RH_ENOMEM, "out of memory");
	ssh_keys_wipe(json);
	ssh_keys_free(&keys);
	return r;
}
