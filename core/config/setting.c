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
#include "job/image.h"
#include "job/names.h"

static const struct rh_setting_rule setting_controller[] = {
	{"namespace", RH_SETTING_NAMESPACE, 0, 0, NULL},
	{"leader-elect", RH_SETTING_TRUTH, 0, 0, NULL},
	{"leader-election-id", RH_SETTING_NAME, 0, 0, NULL},
	{"leader-election-namespace", RH_SETTING_NAMESPACE, 0, 0, NULL},
	{"metrics-bind-address", RH_SETTING_ADDRESS, 0, 0, NULL},
	{"health-probe-bind-address", RH_SETTING_ADDRESS, 0, 0, NULL},
	{"kube-api-qps", RH_SETTING_NUMBER, 0, 1e6, NULL},
	{"kube-api-burst", RH_SETTING_INTEGER, 0, 1e6, NULL},
	{"webhook-server-port", RH_SETTING_INTEGER, 0, UINT16_MAX, NULL},
	{"webhook-cert-dir", RH_SETTING_TEXT, 0, 0, NULL},
	{"webhook-service-name", RH_SETTING_NAME, 0, 0, NULL},
	{"webhook-secret-name", RH_SETTING_NAME, 0, 0, NULL},
	{"log-format", RH_SETTING_WORD, 0, 0, "text|json"},
	{"context", RH_SETTING_TEXT, 0, 0, NULL},
	{"kubeconfig", RH_SETTING_TEXT, 0, 0, NULL},
	{"controller-threads", RH_SETTING_INTEGER, 1, INT32_MAX, NULL},
	{"zap-log-level", RH_SETTING_LEVEL, 0, 0, "debug|info|error|panic"},
	{"zap-stacktrace-level", RH_SETTING_WORD, 0, 0, "info|error|panic"},
	{"zap-time-encoding", RH_SETTING_WORD, 0, 0, "epoch|millis|nano|iso8601|rfc3339|rfc3339nano"},
};

const struct rh_setting_rule *rh_setting_controller(const char *key)
{
	for (size_t i = 0; i < sizeof(setting_controller) / sizeof(setting_controller[0]); i++) {
		if (strcmp(setting_controller[i].key, key) == 0)
			return &setting_controller[i];
	}
	return NULL;
}

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
	switch (rule->type) {
	case RH_SETTING_NUMBER:
	case RH_SETTING_INTEGER:
		return setting_check_number(rule, value, err);
	case RH_SETTING_WORD:
	case RH_SETTING_LEVEL:
		return setting_check_word(rule, value, err);
	case RH_SETTING_TRUTH:
		return setting_check_truth(rule, value, err);
	case RH_SETTING_ADDRESS:
		return setting_check_address(rule, value, err);
	case RH_SETTING_NAMESPACE:
	case RH_SETTING_NAME:
	case RH_SETTING_DOMAIN:
		return setting_check_name(rule, value, err);
	case RH_SETTING_IMAGE:
		return setting_check_image(rule, value, err);
	case RH_SETTING_TEXT:
		break;
	}
	return setting_check_text(rule, value, err);
}
