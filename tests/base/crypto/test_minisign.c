/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and signatures made by minisign 0.11 of Debian. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crypto/minisign.h"
#include "base/os/file.h"
#include "base/support.h"

#define CONTENT "the content of a plugin\n"
#define KEY "RWSUrf0YGkbLCgXDum42e52BVUpUeeI4tknevFXQfkxHGC2QZPHlLaWw"
#define OTHER_KEY "RWS16fYw7OQ8W4oy8CNx8W6QQ5d7HGFpJg3veVqRbogFungWCRQNoq/I"

static const char good[] =
	"untrusted comment: signature from minisign secret key\n"
	"RUSUrf0YGkbLChHqDkqtIo0uEaLfd4cIPiBdb+tQgUcsRKpZLp75SfRAcgJOTyRLzQ93fV6Au2imR62AayzDv86bZh/wEYwyfgc=\n"
	"trusted comment: fixture of tests\n"
	"aTEhMPq6LO2T0ryz270BBLWg9XM7wSl9GQ4d2YgKxT1pTyrQDCYryfeCgcDyw5SaNx9XLliF/qEa+d4Ce7K4AQ==\n";

/* Of minisign -l: of the content, not of its hash. */
static const char legacy[] =
	"untrusted comment: signature from minisign secret key\n"
	"RWSUrf0YGkbLChU3MSGGhQjUA1w7+t+NBmz6KjCTlbGdlzW57aeT9A62Rg37i81vWZ8kykbhO2giMbb/+aBKMJcrmC6RJa57HQw=\n"
	"trusted comment: timestamp:1795375260	file:signed\n"
	"UWr9V/A9AVDoFf+AnzLP0p4cXckPGFBhv09+H5ULZbw96BmYtcgBNm+qEPCFjZKGP7uAylQfGds1Xv/sHkWUDw==\n";

/** @param words what the refusal says; NULL: the signature is good */
static void assert_verified(const char *key_text, const char *content, const char *signature, const char *words)
{
	struct rh_minisign_key key;
	struct rh_error err = {0};
	int fd = memfd_create("minisign", MFD_CLOEXEC);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(rh_fd_write_all(fd, content, strlen(content), NULL), 0);
	assert_int_equal(rh_minisign_key_parse(key_text, &key), 0);
	r = rh_minisign_verify(&key, fd, signature, &err);
	assert_int_equal(close(fd), 0);
	if (words ? r != RH_EINVAL || !strstr(err.message, words) : r != 0)
		fail_msg("%d: \"%s\" does not say \"%s\"", r, err.message, words ? words : "");
}

static void test_minisign__verify(void **state)
{
	(void)state;
	assert_verified(KEY, CONTENT, good, NULL);
	assert_verified(KEY, "the content of a plugin", good, "the file has changed since it was signed");
	assert_verified(OTHER_KEY, CONTENT, good, "another key made it");
	assert_verified(KEY, CONTENT, legacy, "it is a signature in the old format");
}

static void test_minisign__line_ends(void **state)
{
	rh_auto_str dos = {0};
	rh_auto_str cut = {0};

	(void)state;
	for (const char *at = good; *at; at++)
		rh_str_appendf(&dos, "%s%c", *at == '\n' ? "\r" : "", *at);
	assert_verified(KEY, CONTENT, rh_str_text(&dos), NULL);
	rh_str_append_bytes(&cut, good, strlen(good) - 1);
	assert_verified(KEY, CONTENT, rh_str_text(&cut), NULL);
}

/* Each byte of the signature file counts but those of the untrusted comment. */
static void test_minisign__no_byte_may_change(void **state)
{
	char changed[sizeof(good)];

	(void)state;
	for (size_t i = strcspn(good, "\n") + 1; i < strlen(good); i++) {
		memcpy(changed, good, sizeof(good));
		changed[i] = changed[i] == 'A' ? 'B' : 'A';
		if (good[i] == '\n' && i == strlen(good) - 1)
			continue;
		assert_verified(KEY, CONTENT, changed, "");
	}
}

static void test_minisign__what_is_no_signature(void **state)
{
	static const char *const rows[] = {"", "\n\n\n\n", "untrusted comment: x\n",
	                                   "RUSUrf0YGkbLChHqDkqtIo0uEaLfd4cIPiBdb"};
	char longer[sizeof(good) + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_verified(KEY, CONTENT, rows[i],
		                "it is not a signature of minisign; sign the file with minisign -Sm FILE");
	(void)snprintf(longer, sizeof(longer), "%sx", good);
	assert_verified(KEY, CONTENT, longer, "it is not a signature of minisign");
}

static void test_minisign__keys(void **state)
{
	static const char *const rows[] = {"",      "RW",    "untrusted comment: minisign public key",
	                                   KEY "x", "A" KEY, "AASUrf0YGkbLCgXDum42e52BVUpUeeI4tknevFXQfkxHGC2QZPHlLaWw"};
	struct rh_minisign_key key;

	(void)state;
	assert_int_equal(rh_minisign_key_parse(KEY, &key), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i]);
		assert_int_equal(rh_minisign_key_parse(rows[i], &key), RH_EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minisign__verify),
		cmocka_unit_test(test_minisign__line_ends),
		cmocka_unit_test(test_minisign__no_byte_may_change),
		cmocka_unit_test(test_minisign__what_is_no_signature),
		cmocka_unit_test(test_minisign__keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
