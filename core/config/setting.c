/* SPDX-License-Identifier: Apache-2.0 */
#include "config/setting.h"

#include <sys/socket.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/endpoint.h"
#include "job/values/image.h"
#include "job/values/names.h"

/* Plain decimals: strtod() would take hexadecimal numbers, infinities and white space, too. */
static bool setting_is_number(const char *value, const char *digits)
{
	size_t sign = *value == '-';

	return value[sign] && strspn(value + sign, digits) == strlen(value + sign);
}

static int setting_check_number(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	bool whole = rule->type == RH_SETTING_INTEGER;
	bool bounded = rule->min < rule->max;
	char *end = NULL;
	double number = setting_is_number(value, whole ? "0123456789" : "0123456789.") ? strtod(value, &end) : 0;

	if (end && !*end && isfinite(number) && (!bounded || (number >= rule->min && number <= rule->max)))
		return 0;
	if (!bounded)
		return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a %snumber", rule->key, value, whole ? "whole " : "");
	return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a %snumber from %.0f to %.0f", rule->key, value,
	               whole ? "whole " : "", rule->min, rule->max);
}

static bool setting_is_word(const char *words, const char *value, int (*compare)(const char *, const char *, size_t))
{
	size_t length = strlen(value);

	for (const char *at = words; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
		if (length > 0 && compare(at, value, length) == 0 && (at[length] == '|' || !at[length]))
			return true;
	}
	return false;
}

static int setting_check_word(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	static const struct rh_setting_rule verbosity = {"", RH_SETTING_INTEGER, 1, INT32_MAX, NULL};

	if (rule->type == RH_SETTING_WORD && setting_is_word(rule->words, value, strncmp))
		return 0;
	if (rule->type == RH_SETTING_WORD)
		return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not one of %s", rule->key, value, rule->words);
	if (setting_is_word(rule->words, value, strncasecmp) || setting_check_number(&verbosity, value, NULL) == 0)
		return 0;
	return rh_fail(err, RH_EINVAL, "%s: \"%s\" is neither one of %s nor a whole number above 0", rule->key, value,
	               rule->words);
}

static int setting_check_truth(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
		return 0;
	return rh_fail(err, RH_EINVAL, "%s: \"%s\" is neither true nor false", rule->key, value);
}

static int setting_check_address(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	struct sockaddr_storage address;
	socklen_t length;
	int r;

	if (!*value || strcmp(value, "0") == 0)
		return 0;
	r = rh_endpoint_parse(value, &address, &length, err);
	return r < 0 ? rh_wrap(err, r, "%s", rule->key) : 0;
}

static int setting_check_text(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	return *value ? 0 : rh_fail(err, RH_EINVAL, "%s is empty; write a value, or leave it out", rule->key);
}

static int setting_check_name(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	bool may_be_empty = rule->type == RH_SETTING_NAMESPACE || rule->type == RH_SETTING_DOMAIN;

	if (may_be_empty && !*value)
		return 0;
	if (rule->type == RH_SETTING_NAMESPACE)
		return rh_name_is_label(value)
		           ? 0
		           : rh_fail(err, RH_EINVAL,
		                     "%s: \"%s\" is not a name of a namespace; use at most 63 small letters, digits and -",
		                     rule->key, value);
	if (rh_name_is_dns1123(value))
		return 0;
	return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a %s; use small letters, digits, - and .", rule->key, value,
	               rule->type == RH_SETTING_DOMAIN ? "domain name" : "name of an object");
}

static int setting_check_image(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	int r = rh_image_check(value, err);

	return r < 0 ? rh_wrap(err, r, "%s", rule->key) : 0;
}

int rh_setting_check(const struct rh_setting_rule *rule, const char *value, struct rh_error *err)
{
	static int (*const checks[])(const struct rh_setting_rule *rule, const char *value, struct rh_error *err) = {
		[RH_SETTING_TEXT] = setting_check_text,       [RH_SETTING_NUMBER] = setting_check_number,
		[RH_SETTING_INTEGER] = setting_check_number,  [RH_SETTING_TRUTH] = setting_check_truth,
		[RH_SETTING_NAMESPACE] = setting_check_name,  [RH_SETTING_NAME] = setting_check_name,
		[RH_SETTING_DOMAIN] = setting_check_name,     [RH_SETTING_IMAGE] = setting_check_image,
		[RH_SETTING_ADDRESS] = setting_check_address, [RH_SETTING_WORD] = setting_check_word,
		[RH_SETTING_LEVEL] = setting_check_word,      [RH_SETTING_PAIRS] = NULL,
	};

	return checks[rule->type] ? checks[rule->type](rule, value, err) : 0;
}

static void setting_describe_words(const char *words, struct rh_str *out)
{
	rh_str_append(out, "one of ");
	for (; *words; words++)
		rh_str_append_bytes(out, *words == '|' ? ", " : words, *words == '|' ? 2 : 1);
}

static void setting_describe_range(const struct rh_setting_rule *rule, const char *unit, struct rh_str *out)
{
	if (rule->min < rule->max)
		rh_str_appendf(out, " from %.0f%s to %.0f%s", rule->min, unit, rule->max, unit);
}

void rh_setting_describe(const struct rh_setting_rule *rule, struct rh_str *out)
{
	static const char *const texts[] = {
		[RH_SETTING_ANY] = "text",
		[RH_SETTING_TEXT] = "text that is not empty",
		[RH_SETTING_NUMBER] = "a number",
		[RH_SETTING_INTEGER] = "a whole number",
		[RH_SETTING_TRUTH] = "true or false",
		[RH_SETTING_NAMESPACE] = "the name of a namespace, or empty",
		[RH_SETTING_NAME] = "the name of an object",
		[RH_SETTING_DOMAIN] = "a domain name, or empty",
		[RH_SETTING_IMAGE] = "an image",
		[RH_SETTING_ADDRESS] = "an address and port, or 0",
		[RH_SETTING_WORD] = "",
		[RH_SETTING_LEVEL] = "",
		[RH_SETTING_DURATION] = "a duration",
		[RH_SETTING_COUNT] = "a whole number from 0",
		[RH_SETTING_FOLDER] = "a folder",
		[RH_SETTING_FOLDERS] = "folders, separated by \":\"",
		[RH_SETTING_PORTS] = "a range of ports, FIRST-LAST, from 1024 to 65535",
		[RH_SETTING_GANG] = "none, volcano, scheduler-plugins or scheduler-plugins:NAME",
		[RH_SETTING_ALLOW] = "NAME or NAME@sha256:HASH, separated by commas",
		[RH_SETTING_PUBLIC_KEY] = "a public key of minisign",
		[RH_SETTING_ISOLATION] = "none, foreign or process",
		[RH_SETTING_BACKEND] = ("one of none, " RH_BACKENDS),
		[RH_SETTING_SIZE] = "a quantity of bytes",
		[RH_SETTING_LIST] = "names, separated by commas",
		[RH_SETTING_PAIRS] = "NAME=VALUE, separated by commas",
	};

	if (rule->type == RH_SETTING_WORD || rule->type == RH_SETTING_LEVEL)
		setting_describe_words(rule->words, out);
	else
		rh_str_append(out, texts[rule->type]);
	if (rule->type == RH_SETTING_NUMBER || rule->type == RH_SETTING_INTEGER || rule->type == RH_SETTING_DURATION)
		setting_describe_range(rule, rule->type == RH_SETTING_DURATION ? "s" : "", out);
}
