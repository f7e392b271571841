/* SPDX-License-Identifier: Apache-2.0 */
#include "config/allow.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define ALLOW_SEPARATORS ", \t"
#define ALLOW_HASH "@sha256:"

void rh_allow_deinit(struct rh_allow *allow)
{
	for (size_t i = 0; i < allow->count; i++) {
		rh_free(allow->items[i].name);
		rh_free(allow->items[i].origin);
	}
	rh_free(allow->items);
	*allow = (struct rh_allow){0};
}

const struct rh_allowed *rh_allow_find(const struct rh_allow *allow, const char *name)
{
	for (size_t i = 0; i < allow->count; i++) {
		if (strcmp(allow->items[i].name, name) == 0)
			return &allow->items[i];
	}
	return NULL;
}

/* Split "NAME@sha256:HASH" in place. */
static int allow_split(char *item, const char **ret_hash, struct rh_error *err)
{
	char *at = strchr(item, '@');
	size_t digits =
		at && rh_starts_with(at, ALLOW_HASH) ? strspn(at + strlen(ALLOW_HASH), "0123456789abcdefABCDEF") : 0;

	*ret_hash = "";
	if (at && (at == item || digits != RH_SHA256_HEX_SIZE - 1 || at[strlen(ALLOW_HASH) + digits]))
		return rh_fail(err, RH_EINVAL,
		               "allow: \"%s\" is neither NAME nor NAME" ALLOW_HASH
		               "HASH with 64 hexadecimal digits; `roundhouse plugins pin` prints it",
		               item);
	if (at) {
		*at = '\0';
		*ret_hash = at + strlen(ALLOW_HASH);
	}
	if (strchr(item, '/') || rh_ends_with(item, ".so"))
		return rh_fail(err, RH_EINVAL, "allow: \"%s\" is a file; write the plugin's name, as pytorch for pytorch.so",
		               item);
	return 0;
}

static int allow_add_one(struct rh_allow *allow, char *item, const char *origin, bool additional, struct rh_error *err)
{
	struct rh_allowed row = {.additional = additional}, *grown;
	const struct rh_allowed *before;
	const char *hash;
	int r = allow_split(item, &hash, err);

	if (r < 0)
		return r;
	before = rh_allow_find(allow, item);
	if (before)
		return rh_fail(err, RH_EINVAL, "allow: \"%s\" is named twice, before in %s; remove one of them", item,
		               before->origin);
	grown = rh_realloc_array(allow->items, allow->count + 1, sizeof(*grown));
	if (grown)
		allow->items = grown;
	row.name = grown ? rh_strdup(item) : NULL;
	row.origin = row.name ? rh_strdup(origin) : NULL;
	if (!row.origin) {
		rh_free(row.name);
		return rh_fail_oom(err);
	}
	for (size_t i = 0; hash[i]; i++)
		row.sha256[i] = (char)tolower((unsigned char)hash[i]);
	grown[allow->count++] = row;
	return 0;
}

int rh_allow_add(struct rh_allow *allow, const char *text, const char *origin, bool additional, struct rh_error *err)
{
	int r = 0;

	while (r == 0 && *(text += strspn(text, ALLOW_SEPARATORS))) {
		size_t length = strcspn(text, ALLOW_SEPARATORS);
		rh_auto_free char *item = rh_strndup(text, length);

		r = item ? allow_add_one(allow, item, origin, additional, err) : rh_fail_oom(err);
		text += length;
	}
	return r;
}
