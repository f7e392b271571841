/* SPDX-License-Identifier: Apache-2.0 */
/* Ports that a job fixes and that a server of this machine listens on. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/kind.h"
#include "local/preflight/parts.h"

/* What torchrun, DeepSpeed and Accelerate call the port of the first rank, which listens on every address. */
static const char *const ports_options[] = {"--master_port", "--master-port", "--main_process_port"};
#define PORTS_VARIABLE "MASTER_PORT"

/* @return the number that a word begins with, if it is a port; 0: none */
static int32_t ports_number(const char *text)
{
	char *end = NULL;
	long number = text && isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;

	return number > 0 && number <= UINT16_MAX && (*end == '\0' || strchr(" \t\n'\";", *end)) ? (int32_t)number : 0;
}

/* The port in a word, which may be a whole line for a shell. @param next the word behind it; NULL: none */
static int32_t ports_in_word(const char *word, const char *next)
{
	for (size_t i = 0; i < sizeof(ports_options) / sizeof(ports_options[0]); i++) {
		const char *at = strstr(word, ports_options[i]);

		if (!at)
			continue;
		at += strlen(ports_options[i]);
		if (*at == '\0')
			return ports_number(next);
		if (*at == '=' || *at == ' ')
			return ports_number(at + 1);
	}
	return 0;
}

/* @return whether a server listens there */
static bool ports_used(const struct rh_preflight *all, int32_t port, bool everywhere, char *who)
{
	const struct rh_preflight_machine *machine = &all->machine;

	return port > 0 && machine->port && machine->port(machine->arg, port, everywhere, who);
}

static int ports_add(const struct rh_preflight_container *container, const char *member, int32_t port)
{
	rh_auto_free char *place = rh_asprintf("%s.%s", container->place, member);
	char who[RH_PREFLIGHT_WHO_SIZE];

	if (!place)
		return RH_ENOMEM;
	if (!ports_used(container->pod->all, port, true, who))
		return 0;
	return rh_findings_add(container->pod->findings, RH_FINDING_ERROR, place,
	                       "port %d is in use on this machine by %s; stop that, or choose another port", (int)port,
	                       who);
}

static int ports_check_words(const struct rh_preflight_container *container, const char *member)
{
	const struct rh_json *word = rh_json_first(rh_json_get(container->json, member));
	int r = 0;

	for (int i = 0; word && r == 0; i++, word = rh_json_next(word)) {
		const char *text = rh_json_string(word);
		const char *next = rh_json_string(rh_json_next(word));
		rh_auto_free char *place = rh_asprintf("%s[%d]", member, i);
		int32_t port = text ? ports_in_word(text, next) : 0;

		if (port > 0)
			r = place ? ports_add(container, place, port) : RH_ENOMEM;
	}
	return r;
}

/* The last one of a name counts: that of a plugin stands behind that of the user. */
static int ports_check_variable(const struct rh_preflight_container *container)
{
	const struct rh_json *item = rh_json_first(rh_json_get(container->json, "env"));
	const char *value = NULL;
	int32_t port;

	for (; item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), PORTS_VARIABLE))
			value = rh_json_string(rh_json_get(item, "value"));
	}
	port = ports_number(value);
	return port > 0 ? ports_add(container, "env[" PORTS_VARIABLE "]", port) : 0;
}

int rh_preflight_ports(const struct rh_preflight_container *container)
{
	int r = ports_check_words(container, "command");

	if (r == 0)
		r = ports_check_words(container, "args");
	return r == 0 ? ports_check_variable(container) : r;
}

int rh_preflight_own_port(const struct rh_preflight_pod *pod, const struct rh_job *job,
                          const struct rh_replica_spec *spec)
{
	int32_t port = rh_job_own_port(job, spec);
	rh_auto_free char *place = rh_asprintf("%s.containers", pod->place);
	char who[RH_PREFLIGHT_WHO_SIZE];

	if (!place)
		return RH_ENOMEM;
	if (!ports_used(pod->all, port, (job->kind->flags & RH_KIND_BINDS_ALL) != 0, who))
		return 0;
	return rh_findings_add(pod->findings, RH_FINDING_WARNING, place,
	                       "containerPort %d is in use on this machine by %s; replicas get another port, in their "
	                       "variables too; stop that if the program has the number in its own text",
	                       (int)port, who);
}
