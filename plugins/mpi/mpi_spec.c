/* SPDX-License-Identifier: Apache-2.0 */
/* What an MPIJob says, and what it may say beyond the rules of its kind. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mpi.h"

/** Room for a path, a name, or the detail of a finding. */
#define SPEC_TEXT_SIZE 512

int mpi_is_local(const struct rh_services *host, const struct rh_view *view)
{
	return (host->state(view) & RH_STATE_LOCAL) != 0;
}

const char *mpi_quote_name(const struct rh_services *host, const struct rh_view *view, const char *suffix)
{
	const char *name = host->text(view, "metadata.name");
	char text[SPEC_TEXT_SIZE];

	snprintf(text, sizeof(text), "%s%s", name ? name : "", suffix);
	return host->quote(view, text);
}

const char *mpi_quote_namespace(const struct rh_services *host, const struct rh_view *view)
{
	const char *namespace_ = host->text(view, "metadata.namespace");

	return host->quote(view, namespace_ && *namespace_ ? namespace_ : "default");
}

int mpi_has_account(const struct rh_services *host, const struct rh_view *view)
{
	const char *account = host->text(view, MPI_LAUNCHER_SPEC ".serviceAccountName");

	return account && *account;
}

const char *mpi_quote_account(const struct rh_services *host, const struct rh_view *view)
{
	if (mpi_has_account(host, view))
		return host->json(view, MPI_LAUNCHER_SPEC ".serviceAccountName");
	return mpi_quote_name(host, view, "-launcher");
}

int mpi_launcher_works(const struct rh_services *host, const struct rh_view *view)
{
	int32_t containers = host->size(view, MPI_LAUNCHER_SPEC ".containers");
	char path[SPEC_TEXT_SIZE];

	for (int32_t i = 0; i < containers; i++) {
		const char *limits;

		/* only a key can hold these letters: values are quantities */
		snprintf(path, sizeof(path), MPI_LAUNCHER_SPEC ".containers[%" PRId32 "].resources.limits", i);
		limits = host->json(view, path);
		if (limits && strstr(limits, "gpu"))
			return 1;
	}
	return 0;
}

static int32_t spec_check_slots(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply)
{
	const char *json = host->json(view, MPI_SLOTS);
	char detail[SPEC_TEXT_SIZE];
	int64_t slots;

	if (!json || (host->integer(view, MPI_SLOTS, &slots) && slots >= 1 && slots <= INT32_MAX))
		return 0;
	snprintf(detail, sizeof(detail), "Invalid value: %.200s: must be an integer from 1 to %" PRId32, json, INT32_MAX);
	return host->refuse(reply, MPI_SLOTS, detail);
}

static int spec_has_container(const struct rh_services *host, const struct rh_view *view, const char *expected)
{
	int32_t containers = host->size(view, MPI_WORKER_SPEC ".containers");
	char path[SPEC_TEXT_SIZE];

	for (int32_t i = 0; i < containers; i++) {
		const char *name;

		snprintf(path, sizeof(path), MPI_WORKER_SPEC ".containers[%" PRId32 "].name", i);
		name = host->text(view, path);
		if (name && strcmp(name, expected) == 0)
			return 1;
	}
	return 0;
}

/** The name goes into a script; that it is a container's makes it harmless, too. */
static int32_t spec_check_main(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply)
{
	const char *json = host->json(view, MPI_MAIN_CONTAINER);
	const char *name = host->text(view, MPI_MAIN_CONTAINER);
	char detail[SPEC_TEXT_SIZE];

	if (!json || strcmp(json, "\"\"") == 0 || host->replicas(view, "Worker") < 0)
		return 0;
	if (json[0] == '"' && spec_has_container(host, view, name))
		return 0;
	snprintf(detail, sizeof(detail), "Invalid value: %.200s: must be the name of a container of Worker", json);
	return host->refuse(reply, MPI_MAIN_CONTAINER, detail);
}

int32_t mpi_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = self;
	int32_t r = spec_check_slots(host, view, reply);

	return r == 0 ? spec_check_main(host, view, reply) : r;
}
