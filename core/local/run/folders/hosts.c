/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "local/run/folders/hosts.h"

/* What ends a name in /etc/hosts (hosts(5)). */
#define HOSTS_SPACE " \t\r\n#"

static bool hosts_line_has(const char *line, size_t length, const char *name)
{
	const char *end = line + length;
	/* the first word is the address */
	const char *at = line + strcspn(line, HOSTS_SPACE);

	while (at < end && *at != '#') {
		size_t word = strcspn(at, HOSTS_SPACE);

		if (word == strlen(name) && strncmp(at, name, word) == 0)
			return true;
		at += word ? word : 1;
	}
	return false;
}

static bool hosts_have(const char *text, const char *name)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		if (hosts_line_has(text, length, name))
			return true;
		text += length + (text[length] == '\n');
	}
	return false;
}

void rh_run_hosts_machine(struct rh_str *out, const char *text, const char *name)
{
	if (text)
		rh_str_appendf(out, "%s\n", text);
	else
		rh_str_append(out, "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n");
	if (*name && !(text && hosts_have(text, name)))
		rh_str_appendf(out, "127.0.1.1\t%s\n", name);
}
