/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rules/formats.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/str.h"
#include "job/cel/functions/duration.h"
#include "job/cel/regex/regex.h"

/* A format that an expression describes, as the API server's own does. */
struct formats_pattern {
	const char *format, *pattern;
};

static const struct formats_pattern formats_patterns[] = {
	{"byte", "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"},
	{"hostname", "^([a-zA-Z0-9_]{1}[a-zA-Z0-9_-]{0,62}){1}(\\.[a-zA-Z0-9_]{1}[a-zA-Z0-9_-]{0,62})*[._]?$"},
	{"mac", "^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$"},
	{"uuid", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"},
	{"uuid3", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$"},
	{"uuid4", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"},
	{"uuid5", "^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$"},
};

static bool formats_matches(const char *pattern, const char *text)
{
	rh_auto(regex) regex = NULL;
	bool found = true;

	return rh_regex_compile(pattern, strlen(pattern), &regex, NULL) != 0 ||
	       rh_regex_search(regex, text, strlen(text), &found) != 0 || found;
}

static bool formats_is_address(int family, const char *text)
{
	unsigned char bytes[16];

	return inet_pton(family, text, bytes) == 1;
}

static bool formats_is_cidr(const char *text)
{
	const char *slash = strchr(text, '/');
	char address[64], *end;
	long bits = slash ? strtol(slash + 1, &end, 10) : -1;

	if (!slash || (size_t)(slash - text) >= sizeof(address) || strspn(slash + 1, "0123456789") != strlen(slash + 1) ||
	    !slash[1] || strlen(slash + 1) > 3)
		return false;
	rh_copy(address, (size_t)(slash - text) + 1, text);
	return formats_is_address(AF_INET, address) ? bits <= 32 : formats_is_address(AF_INET6, address) && bits <= 128;
}

static bool formats_is_time(const char *text, bool date)
{
	char whole[64];
	int64_t time;

	if (strlen(text) > 40 || (date && strlen(text) != 10))
		return false;
	(void)snprintf(whole, sizeof(whole), "%s%s", text, date ? "T00:00:00Z" : "");
	return rh_time_parse(whole, &time, NULL) == 0;
}

/* Go's form, or a number and a word: "3 days". */
static bool formats_is_duration(const char *text)
{
	int64_t nanoseconds;

	return rh_cel_duration_parse(text, &nanoseconds) ||
	       formats_matches("^[0-9]+ *(ns|nano|us|\xC2\xB5s|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|week|wk)s?$",
	                       text);
}

bool rh_format_fits(const char *format, const char *text)
{
	if (strcmp(format, "ipv4") == 0)
		return formats_is_address(AF_INET, text);
	if (strcmp(format, "ipv6") == 0)
		return formats_is_address(AF_INET6, text);
	if (strcmp(format, "cidr") == 0)
		return formats_is_cidr(text);
	if (strcmp(format, "date") == 0)
		return formats_is_time(text, true);
	if (strcmp(format, "date-time") == 0 || strcmp(format, "datetime") == 0)
		return formats_is_time(text, false);
	if (strcmp(format, "duration") == 0)
		return formats_is_duration(text);
	for (size_t i = 0; i < sizeof(formats_patterns) / sizeof(*formats_patterns); i++) {
		if (strcmp(format, formats_patterns[i].format) == 0)
			return formats_matches(formats_patterns[i].pattern, text);
	}
	return true;
}
