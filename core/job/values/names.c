/* SPDX-License-Identifier: Apache-2.0 */
#include "job/values/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Characters that an API server appends to metadata.generateName. */
#define NAMES_SUFFIX 5

/* The C library's classes follow the locale; names are ASCII. */
static bool names_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool names_is_alnum(char c)
{
	return names_is_lower(c) || (c >= '0' && c <= '9');
}

static char names_to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

const char *rh_name_lower(const char *type, char buffer[RH_NAME_SIZE])
{
	rh_copy(buffer, RH_NAME_SIZE, type);
	for (char *c = buffer; *c; c++)
		*c = names_to_lower(*c);
	return buffer;
}

static void names_append(char buffer[RH_NAME_SIZE], const char *text)
{
	size_t used = strlen(buffer);

	rh_copy(buffer + used, RH_NAME_SIZE - used, text);
}

const char *rh_name_replica(const char *job, const char *type, int32_t index, char buffer[RH_NAME_SIZE])
{
	char lower[RH_NAME_SIZE];
	char number[16] = "";

	if (index >= 0)
		(void)snprintf(number, sizeof(number), "-%" PRId32, index);
	rh_copy(buffer, RH_NAME_SIZE, job);
	names_append(buffer, "-");
	names_append(buffer, rh_name_lower(type, lower));
	names_append(buffer, number);
	for (char *c = buffer; *c; c++)
		*c = *c == '/' ? '-' : *c;
	return buffer;
}

bool rh_name_is_replica(const char *name, const char *type, bool indexed, size_t *ret_job)
{
	size_t end = strlen(name), digits = 0, length = strlen(type);

	while (indexed && digits < end && name[end - digits - 1] >= '0' && name[end - digits - 1] <= '9')
		digits++;
	if (indexed && (digits == 0 || digits == end || name[end - digits - 1] != '-'))
		return false;
	end -= indexed ? digits + 1 : 0;
	if (end < length + 2 || name[end - length - 1] != '-')
		return false;
	for (size_t i = 0; i < length; i++) {
		if (name[end - length + i] != names_to_lower(type[i]))
			return false;
	}
	*ret_job = end - length - 1;
	return true;
}

/* `[a-z0-9]([-a-z0-9]*[a-z0-9])?`; returns what follows the label, or NULL where none starts or it ends in '-'. */
static const char *names_skip_label(const char *name)
{
	const char *end = name;

	while (names_is_alnum(*end) || *end == '-')
		end++;
	return end > name && names_is_alnum(*name) && names_is_alnum(end[-1]) ? end : NULL;
}

bool rh_name_is_label(const char *name)
{
	const char *end = names_skip_label(name);

	return end && !*end && end - name <= RH_LABEL_MAX;
}

bool rh_name_is_dns1035(const char *name)
{
	return names_is_lower(*name) && rh_name_is_label(name);
}

bool rh_name_is_dns1123(const char *name)
{
	const char *label = name;

	if (strlen(name) > RH_SUBDOMAIN_MAX)
		return false;
	while ((label = names_skip_label(label))) {
		if (!*label)
			return true;
		if (*label++ != '.')
			return false;
	}
	return false;
}

bool rh_name_is_backend(const char *name)
{
	static const char *const known[] = {"auto", "native", "ucx", "mpi", "nccl"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(name, known[i]) == 0)
			return true;
	}
	return false;
}

bool rh_name_may_be_backend(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return length > 0 && length <= RH_LABEL_MAX && !name[length];
}

const char *rh_name_selector(const char *job, const char *controller, const char *type, char *buffer, size_t size)
{
	char lower[RH_NAME_SIZE];

	(void)snprintf(buffer, size, RH_LABEL_JOB "=%s," RH_LABEL_OPERATOR "=%s," RH_LABEL_TYPE "=%s", job, controller,
	               rh_name_lower(type, lower));
	return buffer;
}

const char *rh_name_generate(const char *base, uint32_t number, char buffer[RH_NAME_SIZE])
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	char suffix[NAMES_SUFFIX + 1] = "";

	for (size_t i = NAMES_SUFFIX; i > 0; i--, number /= sizeof(letters) - 1)
		suffix[i - 1] = letters[number % (sizeof(letters) - 1)];
	(void)snprintf(buffer, RH_NAME_SIZE, "%.*s%s", RH_LABEL_MAX - NAMES_SUFFIX, base, suffix);
	return buffer;
}
