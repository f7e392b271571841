/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/certificate.h"

#include <string.h>

#include "base/os/clock.h"
#include "base/support.h"

#define NAME "training-operator.kubeflow.svc"
#define NOW (INT64_C(1800000000) * RH_SECOND)
#define DAY (86400 * RH_SECOND)

/* Two sets, made once: keys take their time. */
struct sets {
	struct rh_certificates one;
	struct rh_certificates two;
};

static int make_sets(void **state)
{
	struct sets *sets = rh_alloc(sizeof(*sets));
	struct rh_error err = {0};

	if (rh_certificates_make(NAME, NOW, &sets->one, &err) < 0 || rh_certificates_make(NAME, NOW, &sets->two, &err) < 0)
		fail_msg("%s", err.message);
	*state = sets;
	return 0;
}

static int free_sets(void **state)
{
	struct sets *sets = *state;

	rh_certificates_deinit(&sets->one);
	rh_certificates_deinit(&sets->two);
	rh_certificates_deinit(&sets->two);
	rh_free(sets);
	return 0;
}

static void test_certificate__form(void **state)
{
	const struct sets *sets = *state;

	assert_memory_equal(sets->one.ca, "-----BEGIN CERTIFICATE-----\n", 28);
	assert_memory_equal(sets->one.crt, "-----BEGIN CERTIFICATE-----\n", 28);
	/* PKCS #1, or V1 could not read them */
	assert_memory_equal(sets->one.ca_key, "-----BEGIN RSA PRIVATE KEY-----\n", 32);
	assert_memory_equal(sets->one.key, "-----BEGIN RSA PRIVATE KEY-----\n", 32);
	assert_string_not_equal(sets->one.crt, sets->two.crt);
}

struct row {
	const char *name;
	const char *host;
	int64_t now;
	int64_t ahead;
	bool good;
};

static const struct row rows[] = {
	{"now", NAME, NOW, 0, true},
	{"now, 90 days ahead", NAME, NOW, 90 * DAY, true},
	{"at its first hour", NAME, NOW - RH_SECOND, 0, true},
	{"before", NAME, NOW - 2 * 3600 * RH_SECOND, 0, false},
	{"364 days ahead", NAME, NOW, 364 * DAY, true},
	{"366 days ahead", NAME, NOW, 366 * DAY, false},
	{"afterwards", NAME, NOW + 366 * DAY, 0, false},
	{"another name", "training-operator.other.svc", NOW, 0, false},
	{"a longer name", NAME ".cluster.local", NOW, 0, false},
};

static void test_certificate__good(void **state)
{
	const struct sets *sets = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i].name);
		assert_int_equal(rh_certificates_good(&sets->one, rows[i].host, rows[i].now, rows[i].ahead), rows[i].good);
	}
}

static bool good(char *ca, char *ca_key, char *crt, char *key)
{
	const struct rh_certificates mixed = {ca, ca_key, crt, key};

	return rh_certificates_good(&mixed, NAME, NOW, 0);
}

static void test_certificate__parts_that_do_not_fit(void **state)
{
	const struct sets *sets = *state;
	const struct rh_certificates *one = &sets->one;
	const struct rh_certificates *two = &sets->two;
	char nonsense[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
	char empty[] = "";

	assert_true(good(one->ca, one->ca_key, one->crt, one->key));
	assert_false(good(two->ca, two->ca_key, one->crt, one->key));
	assert_false(good(one->ca, two->ca_key, one->crt, one->key));
	assert_false(good(one->ca, one->ca_key, one->crt, two->key));
	assert_false(good(one->ca, one->ca_key, one->ca, one->ca_key)); /* no server's name */
	assert_false(good(one->crt, one->key, one->crt, one->key));     /* no authority */
	assert_false(good(nonsense, one->ca_key, one->crt, one->key));
	assert_false(good(one->ca, one->ca_key, one->crt, nonsense));
	assert_false(good(one->ca, one->ca_key, empty, one->key));
	assert_false(good(NULL, one->ca_key, one->crt, one->key));
	assert_false(good(one->ca, NULL, one->crt, one->key));
	assert_false(good(one->ca, one->ca_key, NULL, one->key));
	assert_false(good(one->ca, one->ca_key, one->crt, NULL));
}

/* A key that needs a password is not good; nobody is asked for it. */
static void test_certificate__encrypted_key(void **state)
{
	static char encrypted[] =
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
		"DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
	const struct sets *sets = *state;

	assert_false(good(sets->one.ca, sets->one.ca_key, sets->one.crt, encrypted));
}

static int count_of(const char *text, const char *part)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

/* The authority is kept while it is good, and made anew when it is not. */
static void test_certificate__renew(void **state)
{
	const struct sets *sets = *state;
	struct rh_error err = {0};
	rh_auto_certificates held = {rh_strdup(sets->one.ca), rh_strdup(sets->one.ca_key), NULL, NULL};

	assert_int_equal(rh_certificates_renew(&held, NAME, NOW, 90 * DAY, &err), 0);
	assert_string_equal(held.ca, sets->one.ca);
	assert_string_not_equal(held.crt, sets->one.crt);
	assert_true(rh_certificates_good(&held, NAME, NOW, 90 * DAY));
	assert_int_equal(rh_certificates_renew(&held, NAME, NOW + 3600 * DAY, 90 * DAY, &err), 0);
	assert_string_not_equal(held.ca, sets->one.ca);
	assert_true(rh_certificates_good(&held, NAME, NOW + 3600 * DAY, 90 * DAY));
	rh_free(held.ca_key);
	held.ca_key = rh_strdup(sets->one.ca_key);
	assert_int_equal(rh_certificates_renew(&held, NAME, NOW, 90 * DAY, &err), 0);
	assert_true(good(held.ca, held.ca_key, held.crt, held.key));
}

/* Own authority first, then others that are good; what is no authority, or too old, or no certificate, goes. */
static void test_certificate__trust(void **state)
{
	const struct sets *sets = *state;
	rh_auto_free char *mixed = rh_asprintf("%s%s%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
	                                       sets->two.ca, sets->one.ca, sets->one.crt);
	rh_auto_free char *both = rh_asprintf("%s%s", sets->one.ca, sets->two.ca);
	rh_auto_str out = {0};

	assert_int_equal(rh_certificates_trust(sets->one.ca, NULL, NOW, &out), 0);
	assert_string_equal(rh_str_text(&out), sets->one.ca);
	rh_str_clear(&out);
	assert_int_equal(rh_certificates_trust(sets->one.ca, "\n", NOW, &out), 0);
	assert_string_equal(rh_str_text(&out), sets->one.ca);
	rh_str_clear(&out);
	assert_int_equal(rh_certificates_trust(sets->one.ca, mixed, NOW, &out), 1);
	assert_string_equal(rh_str_text(&out), both);
	rh_str_clear(&out);
	assert_int_equal(rh_certificates_trust(sets->one.ca, both, NOW, &out), 1);
	assert_string_equal(rh_str_text(&out), both);
	rh_str_clear(&out);
	assert_int_equal(rh_certificates_trust(sets->one.ca, both, NOW + 3660 * DAY, &out), 0);
	assert_int_equal(count_of(rh_str_text(&out), "BEGIN CERTIFICATE"), 1);
	/* an authority whose text does not end its last line */
	rh_str_clear(&out);
	both[strlen(sets->one.ca) - 1] = '\0';
	assert_int_equal(rh_certificates_trust(both, sets->two.ca, NOW, &out), 1);
	both[strlen(sets->one.ca) - 1] = '\n';
	assert_string_equal(rh_str_text(&out), both);
}

/* It signs itself, so it is its own authority, for localhost alone; each has a key of its own. */
static void test_certificate__local(void **state)
{
	rh_auto_certificates made = {0};
	rh_auto_certificates other = {0};
	struct rh_certificates own;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_certificates_make_local(NOW, &made, &err), 0);
	assert_int_equal(rh_certificates_make_local(NOW, &other, &err), 0);
	assert_null(made.ca);
	assert_null(made.ca_key);
	own = (struct rh_certificates){made.crt, made.key, made.crt, made.key};
	assert_true(rh_certificates_good(&own, "localhost", NOW, 364 * DAY));
	assert_false(rh_certificates_good(&own, "localhost", NOW, 366 * DAY));
	assert_false(rh_certificates_good(&own, NAME, NOW, 0));
	own.key = other.key;
	assert_false(rh_certificates_good(&own, "localhost", NOW, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_certificate__form),
		cmocka_unit_test(test_certificate__good),
		cmocka_unit_test(test_certificate__parts_that_do_not_fit),
		cmocka_unit_test(test_certificate__encrypted_key),
		cmocka_unit_test(test_certificate__renew),
		cmocka_unit_test(test_certificate__trust),
		cmocka_unit_test(test_certificate__local),
	};

	return cmocka_run_group_tests(tests, make_sets, free_sets);
}
