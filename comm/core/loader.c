/* SPDX-License-Identifier: Apache-2.0 */
/* Backends: found, checked, and chosen so that all ranks have the same one. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trust.h"
#include "comm/core/context.h"
#include "comm/core/error.h"

#define WHY_ROOM 200
#define PATH_ROOM 4096

/* A backend that may be chosen. */
struct candidate {
	char name[RH_COMM_NAME_MAX];
	struct rh_comm_module module; /* empty when it was refused */
	char why[WHY_ROOM];           /* why not; "" when it can be had */
	int32_t score;                /* the lowest of all ranks */
};

/* What is looked for. */
struct loader_wish {
	const char *wanted;
	const char *key; /* under which the ranks vote */
	uint32_t memory; /* that it must move */
};

/* Known by name, for "auto"; further ones can be named. */
static const char *const loader_known[] = {"native", "ucx", "mpi"};

#define CANDIDATES (sizeof(loader_known) / sizeof(*loader_known))

/* @return whether it is one that this library can talk to; else `why` says both sides */
static bool loader_fits(const struct rh_comm_backend *backend, const char *name, char *why)
{
	const struct rh_comm_head *head = &backend->head;

	if (strncmp(head->vendor, RH_COMM_BACKEND_VENDOR, sizeof(head->vendor)) != 0)
		(void)snprintf(why, WHY_ROOM, "it is for the ABI of \"%.16s\", this is \"%s\"", head->vendor,
		               RH_COMM_BACKEND_VENDOR);
	else if (head->major != RH_COMM_BACKEND_MAJOR || head->minor != RH_COMM_BACKEND_MINOR)
		(void)snprintf(why, WHY_ROOM, "it was built for ABI %d.%d, this library has %d.%d", head->major, head->minor,
		               RH_COMM_BACKEND_MAJOR, RH_COMM_BACKEND_MINOR);
	else if (head->size < sizeof(*backend))
		(void)snprintf(why, WHY_ROOM, "its table has %u bytes, this library needs %zu", head->size, sizeof(*backend));
	else if (!backend->name || strcmp(backend->name, name) != 0)
		(void)snprintf(why, WHY_ROOM, "it calls itself \"%s\"", backend->name ? backend->name : "");
	else if (!backend->probe || !backend->open || !backend->close || !backend->send || !backend->recv ||
	         !backend->test || !backend->abort)
		(void)snprintf(why, WHY_ROOM, "it lacks one of probe, open, close, send, recv, test, abort");
	else
		return true;
	return false;
}

/* @return the file of librhcomm itself, or of the program that it is a part of; NULL when it is unknown */
static const char *loader_self(void)
{
	Dl_info info;

	return dladdr((const void *)&rh_comm_native, &info) ? info.dli_fname : NULL;
}

static void loader_name_file(const char *name, char *file, size_t room)
{
	const char *path = getenv("RH_COMM_PATH");
	const char *self = loader_self();
	const char *slash = self ? strrchr(self, '/') : NULL;

	if (path && path[0])
		(void)snprintf(file, room, "%s/librhcomm_%s.so", path, name);
	else
		(void)snprintf(file, room, "%.*slibrhcomm_%s.so", slash ? (int)(slash - self) + 1 : 0, slash ? self : "", name);
}

/*
 * What runs in this process is out of the reach of others. It is loaded by its name, from which it has $ORIGIN. What
 * has a name without a folder is for the system's loader to find, as librhcomm was.
 */
static void *loader_dlopen(const char *name, char *why)
{
	char file[PATH_ROOM];
	char real[PATH_MAX];
	void *library;
	int fd = -1;

	loader_name_file(name, file, sizeof(file));
	if (strchr(file, '/')) {
		fd = rh_trust_open(file, loader_self(), real, why, WHY_ROOM);
		if (fd < 0)
			return NULL;
	}
	library = dlopen(fd < 0 ? file : real, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		(void)snprintf(why, WHY_ROOM, "%s", dlerror());
	if (fd >= 0)
		(void)close(fd);
	return library;
}

static void loader_open(struct candidate *candidate, const char *name)
{
	rh_comm_backend_entry_fn *entry = NULL;
	void *library;

	(void)snprintf(candidate->name, sizeof(candidate->name), "%s", name);
	if (strcmp(name, "native") == 0) {
		candidate->module.backend = &rh_comm_native;
		return;
	}
	library = loader_dlopen(name, candidate->why);
	if (!library)
		return;
	*(void **)&entry = dlsym(library, RH_COMM_BACKEND_SYMBOL);
	if (!entry) {
		(void)snprintf(candidate->why, WHY_ROOM, "%s", dlerror());
	} else if (loader_fits(entry(), name, candidate->why)) {
		candidate->module = (struct rh_comm_module){entry(), library};
		return;
	}
	(void)dlclose(library);
}

static void loader_probe(const struct rh_comm *comm, struct candidate *candidate, uint32_t memory)
{
	const struct rh_comm_backend *backend = candidate->module.backend;

	if (!backend)
		return;
	if (backend->probe(comm->rank, comm->size, candidate->why, WHY_ROOM) < 0) {
		if (!candidate->why[0])
			(void)snprintf(candidate->why, WHY_ROOM, "it cannot work here");
	} else if ((backend->memories & memory) == 0) {
		(void)snprintf(candidate->why, WHY_ROOM, "it does not move %s memory",
		               memory == RH_COMM_MEMORY_HOST ? "host" : "CUDA");
	} else {
		candidate->why[0] = '\0';
		candidate->score = backend->score;
	}
}

/* What a rank says of its candidates. */
struct loader_vote {
	char wanted[RH_COMM_NAME_MAX];
	int32_t scores[CANDIDATES];
	char why[CANDIDATES][WHY_ROOM];
};

/* Take out the candidates that a rank cannot have, naming the first such rank; of scores the lowest counts. */
static int32_t loader_count(struct candidate *candidates, size_t count, int32_t rank, const char *wanted,
                            struct loader_vote *vote, struct rh_comm_error *err)
{
	vote->wanted[RH_COMM_NAME_MAX - 1] = '\0';
	if (strcmp(vote->wanted, wanted) != 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, rank,
		                    "this rank wants the backend \"%s\" and rank %d \"%s\": set "
		                    "RH_COMM_BACKEND the same everywhere",
		                    wanted, (int)rank, vote->wanted);
	for (size_t i = 0; i < count; i++) {
		vote->why[i][WHY_ROOM - 1] = '\0';
		if (vote->scores[i] < candidates[i].score)
			candidates[i].score = vote->scores[i];
		if (vote->why[i][0] && !candidates[i].why[0])
			(void)snprintf(candidates[i].why, WHY_ROOM, "rank %d: %.150s", (int)rank, vote->why[i]);
	}
	return 0;
}

static int32_t loader_agree(struct rh_comm *comm, const struct loader_wish *wish, struct candidate *candidates,
                            size_t count, struct rh_comm_error *err)
{
	struct loader_vote vote = {.wanted = ""};
	char key[32];
	int32_t r;

	(void)snprintf(vote.wanted, sizeof(vote.wanted), "%s", wish->wanted);
	for (size_t i = 0; i < count; i++) {
		vote.scores[i] = candidates[i].score;
		memcpy(vote.why[i], candidates[i].why, WHY_ROOM);
	}
	(void)snprintf(key, sizeof(key), "%s/%d", wish->key, (int)comm->rank);
	r = rh_comm_put(comm, key, &vote, sizeof(vote), err);
	for (int32_t rank = 0; rank < comm->size && r == 0; rank++) {
		int64_t n;

		(void)snprintf(key, sizeof(key), "%s/%d", wish->key, (int)rank);
		n = rh_comm_get(comm, key, &vote, sizeof(vote), err);
		r = n < 0 ? (int32_t)n : loader_count(candidates, count, rank, wish->wanted, &vote, err);
	}
	return r;
}

static struct candidate *loader_best(struct candidate *candidates, size_t count)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!candidates[i].why[0] && (!best || candidates[i].score > best->score))
			best = &candidates[i];
	}
	return best;
}

/* One line that tells what was chosen, and why not the others. */
static void loader_tell(const struct rh_comm *comm, const struct candidate *best, const struct candidate *candidates,
                        size_t count)
{
	char text[1024] = "";
	size_t length = 0;

	if (!comm->world->env.log || comm->rank != 0)
		return;
	for (size_t i = 0; i < count && length < sizeof(text); i++) {
		if (candidates[i].why[0])
			length += (size_t)snprintf(text + length, sizeof(text) - length, "; not %s: %s", candidates[i].name,
			                           candidates[i].why);
	}
	(void)fprintf(stderr, "rh_comm: %d ranks, backend %s%s\n", (int)comm->size, best->name, text);
}

static int32_t loader_refuse(const struct candidate *candidates, size_t count, struct rh_comm_error *err)
{
	if (count == 1)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the backend %s cannot be had: %s",
		                    candidates[0].name, candidates[0].why);
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "no backend can be had; %s: %s", candidates[0].name,
	                    candidates[0].why);
}

int32_t rh_comm_load(struct rh_comm *comm, const char *wanted, struct rh_comm_module *ret_module,
                     struct rh_comm_error *err)
{
	struct candidate candidates[CANDIDATES] = {{.why = ""}};
	struct loader_wish wish = {wanted, "backend", RH_COMM_MEMORY_HOST};
	/* nccl moves no host memory; that all want it is agreed on all the same */
	const char *name = strcmp(wanted, "nccl") == 0 ? "native" : wanted;
	bool automatic = strcmp(wanted, "auto") == 0;
	size_t count = automatic ? CANDIDATES : 1;
	struct candidate *best;
	int32_t r = 0;

	if (strlen(wanted) >= RH_COMM_NAME_MAX || strchr(wanted, '/'))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "\"%.40s\" is no name of a backend", wanted);
	for (size_t i = 0; i < count; i++) {
		loader_open(&candidates[i], automatic ? loader_known[i] : name);
		loader_probe(comm, &candidates[i], wish.memory);
	}
	if (comm->size > 1)
		r = loader_agree(comm, &wish, candidates, count, err);
	best = r == 0 ? loader_best(candidates, count) : NULL;
	if (best) {
		loader_tell(comm, best, candidates, count);
		*ret_module = best->module;
		best->module.library = NULL;
	} else if (r == 0) {
		r = loader_refuse(candidates, count, err);
	}
	for (size_t i = 0; i < count; i++)
		rh_comm_unload(&candidates[i].module);
	return r;
}

int32_t rh_comm_load_cuda(struct rh_comm *comm, const char *wanted, struct rh_comm_module *ret_module,
                          struct rh_comm_error *err)
{
	struct candidate candidate = {.why = ""};
	struct loader_wish wish = {wanted, "cuda", RH_COMM_MEMORY_CUDA};
	bool required = strcmp(wanted, "nccl") == 0;
	int32_t r = 0;

	*ret_module = (struct rh_comm_module){0};
	if (!required && strcmp(wanted, "auto") != 0) {
		(void)snprintf(comm->cuda.why, sizeof(comm->cuda.why), "the backend was chosen to be %s", wanted);
		return 0;
	}
	loader_open(&candidate, "nccl");
	loader_probe(comm, &candidate, wish.memory);
	if (comm->size > 1)
		r = loader_agree(comm, &wish, &candidate, 1, err);
	if (r == 0 && !candidate.why[0]) {
		*ret_module = candidate.module;
		return 0;
	}
	(void)snprintf(comm->cuda.why, sizeof(comm->cuda.why), "nccl: %s", candidate.why);
	rh_comm_unload(&candidate.module);
	return r == 0 && required ? loader_refuse(&candidate, 1, err) : r;
}

int32_t rh_comm_module_open(const char *name, struct rh_comm_module *ret_module, char *why, size_t room)
{
	struct candidate candidate = {.why = ""};

	if (strlen(name) >= RH_COMM_NAME_MAX || strchr(name, '/'))
		(void)snprintf(candidate.why, WHY_ROOM, "\"%.40s\" is no name of a backend", name);
	else
		loader_open(&candidate, name);
	if (candidate.module.backend) {
		*ret_module = candidate.module;
		return 0;
	}
	(void)snprintf(why, room, "%s", candidate.why);
	return RH_COMM_ENOTSUP;
}

void rh_comm_unload(struct rh_comm_module *module)
{
	if (module->library)
		(void)dlclose(module->library);
	*module = (struct rh_comm_module){0};
}
