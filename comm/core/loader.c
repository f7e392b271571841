/* SPDX-License-Identifier: Apache-2.0 */
/* Backends: found, checked, and chosen so that all ranks have the same one. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/trust.h"
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

/* Those of this library, in the order in which equals are taken; the last one is for CUDA memory alone. */
static const char *const loader_known[] = {"native", "ucx", "mpi", "nccl"};

#define KNOWN (sizeof(loader_known) / sizeof(*loader_known))
#define KNOWN_HOST (KNOWN - 1)
/* Most that one rank votes on: those, and others that lie where they do. */
#define CANDIDATES 16
#define FILE_PREFIX "librhcomm_"
#define FILE_SUFFIX ".so"

/* What may be chosen. */
struct ballot {
	struct candidate items[CANDIDATES];
	size_t count;
};

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

/* Where backends lie, with the slash; "": unknown. */
static void loader_folder(char *folder, size_t room)
{
	const char *path = getenv("RH_COMM_PATH");
	const char *self = loader_self();
	const char *slash = self ? strrchr(self, '/') : NULL;

	if (path && path[0])
		(void)snprintf(folder, room, "%s/", path);
	else
		(void)snprintf(folder, room, "%.*s", slash ? (int)(slash - self) + 1 : 0, slash ? self : "");
}

/*
 * What runs in this process is out of the reach of others. It is loaded by its name, from which it has $ORIGIN. What
 * has a name without a folder is for the system's loader to find, as librhcomm was.
 */
static void *loader_dlopen(const char *name, char *why)
{
	char folder[PATH_ROOM];
	char file[PATH_ROOM + 64];
	char real[PATH_MAX];
	void *library;
	int fd = -1;

	loader_folder(folder, sizeof(folder));
	(void)snprintf(file, sizeof(file), "%s" FILE_PREFIX "%s" FILE_SUFFIX, folder, name);
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

/* What a rank says of a candidate. */
struct loader_word {
	char name[RH_COMM_NAME_MAX];
	char why[WHY_ROOM];
	int32_t score;
};

/* What it says of all; only as many as there are travel. */
struct loader_vote {
	char wanted[RH_COMM_NAME_MAX];
	struct loader_word words[CANDIDATES];
};

static const struct loader_word *vote_find(const struct loader_vote *vote, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(vote->words[i].name, name, RH_COMM_NAME_MAX) == 0)
			return &vote->words[i];
	}
	return NULL;
}

/* Take out the candidates that a rank cannot have, naming the first such rank; of scores the lowest counts. */
static int32_t loader_count(struct ballot *ballot, int32_t rank, const char *wanted, struct loader_vote *vote,
                            size_t words, struct rh_comm_error *err)
{
	vote->wanted[RH_COMM_NAME_MAX - 1] = '\0';
	if (strcmp(vote->wanted, wanted) != 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, rank,
		                    "this rank wants the backend \"%s\" and rank %d \"%s\": set "
		                    "RH_COMM_BACKEND the same everywhere",
		                    wanted, (int)rank, vote->wanted);
	for (size_t i = 0; i < ballot->count; i++) {
		struct candidate *candidate = &ballot->items[i];
		const struct loader_word *word = vote_find(vote, words, candidate->name);

		if (word && word->score < candidate->score)
			candidate->score = word->score;
		if ((!word || word->why[0]) && !candidate->why[0])
			(void)snprintf(candidate->why, WHY_ROOM, "rank %d: %.150s", (int)rank,
			               word ? word->why : "it has no such file");
	}
	return 0;
}

static size_t loader_vote_bytes(size_t words)
{
	return offsetof(struct loader_vote, words) + words * sizeof(struct loader_word);
}

static int32_t loader_agree(struct rh_comm *comm, const struct loader_wish *wish, struct ballot *ballot,
                            struct rh_comm_error *err)
{
	struct loader_vote vote = {.wanted = ""};
	char key[32];
	int32_t r;

	(void)snprintf(vote.wanted, sizeof(vote.wanted), "%s", wish->wanted);
	for (size_t i = 0; i < ballot->count; i++) {
		vote.words[i].score = ballot->items[i].score;
		memcpy(vote.words[i].name, ballot->items[i].name, RH_COMM_NAME_MAX);
		memcpy(vote.words[i].why, ballot->items[i].why, WHY_ROOM);
	}
	(void)snprintf(key, sizeof(key), "%s/%d", wish->key, (int)comm->rank);
	r = rh_comm_put(comm, key, &vote, loader_vote_bytes(ballot->count), err);
	for (int32_t rank = 0; rank < comm->size && r == 0; rank++) {
		size_t words = 0;
		int64_t n;

		(void)snprintf(key, sizeof(key), "%s/%d", wish->key, (int)rank);
		n = rh_comm_get(comm, key, &vote, sizeof(vote), err);
		if (n >= (int64_t)loader_vote_bytes(0))
			words = ((size_t)n - loader_vote_bytes(0)) / sizeof(struct loader_word);
		for (size_t i = 0; i < words; i++)
			vote.words[i].why[WHY_ROOM - 1] = '\0';
		r = n < 0 ? (int32_t)n : loader_count(ballot, rank, wish->wanted, &vote, words, err);
	}
	return r;
}

static void ballot_add(const struct rh_comm *comm, const struct loader_wish *wish, const char *name,
                       struct ballot *ballot)
{
	struct candidate *candidate = &ballot->items[ballot->count++];

	loader_open(candidate, name);
	loader_probe(comm, candidate, wish->memory);
}

/* @return whether a file is a backend of somebody else, and how it is called */
static bool loader_is_foreign(const char *file, char *name)
{
	size_t length = strlen(file);
	size_t around = strlen(FILE_PREFIX) + strlen(FILE_SUFFIX);

	if (length <= around || length - around >= RH_COMM_NAME_MAX ||
	    strncmp(file, FILE_PREFIX, strlen(FILE_PREFIX)) != 0 ||
	    strcmp(file + length - strlen(FILE_SUFFIX), FILE_SUFFIX) != 0)
		return false;
	(void)snprintf(name, RH_COMM_NAME_MAX, "%.*s", (int)(length - around), file + strlen(FILE_PREFIX));
	for (size_t i = 0; i < KNOWN; i++) {
		if (strcmp(loader_known[i], name) == 0)
			return false;
	}
	return true;
}

static int loader_filter(const struct dirent *entry)
{
	char name[RH_COMM_NAME_MAX];

	return loader_is_foreign(entry->d_name, name);
}

/* Those of others that lie where ours do, by name: equals are taken in the same order on all ranks. */
static void ballot_add_foreign(const struct rh_comm *comm, const struct loader_wish *wish, struct ballot *ballot)
{
	struct dirent **entries = NULL;
	char folder[PATH_ROOM];
	char name[RH_COMM_NAME_MAX];
	int count;

	loader_folder(folder, sizeof(folder));
	count = folder[0] ? scandir(folder, &entries, loader_filter, alphasort) : 0;
	for (int i = 0; i < count; i++) {
		if (ballot->count < CANDIDATES && loader_is_foreign(entries[i]->d_name, name))
			ballot_add(comm, wish, name, ballot);
		free(entries[i]);
	}
	free(entries);
}

static struct candidate *loader_best(struct ballot *ballot)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < ballot->count; i++) {
		struct candidate *candidate = &ballot->items[i];

		if (!candidate->why[0] && (!best || candidate->score > best->score))
			best = candidate;
	}
	return best;
}

/* One line that tells what was chosen, and why not the others. */
static void loader_report(const struct rh_comm *comm, const struct candidate *best, const struct ballot *ballot)
{
	char text[1024] = "";
	size_t length = 0;

	if (!comm->world->env.log || comm->rank != 0)
		return;
	for (size_t i = 0; i < ballot->count && length < sizeof(text); i++) {
		if (ballot->items[i].why[0])
			length += (size_t)snprintf(text + length, sizeof(text) - length, "; not %s: %s", ballot->items[i].name,
			                           ballot->items[i].why);
	}
	(void)fprintf(stderr, "rh_comm: %d ranks, backend %s%s\n", (int)comm->size, best->name, text);
}

static int32_t loader_refuse(const struct ballot *ballot, struct rh_comm_error *err)
{
	const struct candidate *first = &ballot->items[0];

	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
	                    ballot->count == 1 ? "the backend %s cannot be had: %s" : "no backend can be had; %s: %s",
	                    first->name, first->why);
}

/* The one that is best for all ranks. @return 0, and an empty module when there is none; RH_COMM_E* */
static int32_t loader_choose(struct rh_comm *comm, const struct loader_wish *wish, struct ballot *ballot,
                             struct candidate **ret_best, struct rh_comm_error *err)
{
	int32_t r = comm->size > 1 ? loader_agree(comm, wish, ballot, err) : 0;

	*ret_best = r == 0 ? loader_best(ballot) : NULL;
	return r;
}

/* All but the one that was chosen go. */
static void ballot_deinit(struct ballot *ballot, const struct candidate *best)
{
	for (size_t i = 0; i < ballot->count; i++) {
		if (&ballot->items[i] != best)
			rh_comm_unload(&ballot->items[i].module);
	}
}

int32_t rh_comm_load(struct rh_comm *comm, const char *wanted, struct rh_comm_module *ret_module,
                     struct rh_comm_error *err)
{
	struct loader_wish wish = {wanted, "backend", RH_COMM_MEMORY_HOST};
	struct ballot ballot = {.count = 0};
	struct candidate *best = NULL;
	int32_t r;

	if (strlen(wanted) >= RH_COMM_NAME_MAX || strchr(wanted, '/'))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "\"%.40s\" is no name of a backend", wanted);
	if (strcmp(wanted, "auto") == 0) {
		for (size_t i = 0; i < KNOWN_HOST; i++)
			ballot_add(comm, &wish, loader_known[i], &ballot);
		ballot_add_foreign(comm, &wish, &ballot);
	} else {
		/* nccl moves no host memory; that all want it is agreed on all the same */
		ballot_add(comm, &wish, strcmp(wanted, "nccl") == 0 ? "native" : wanted, &ballot);
	}
	r = loader_choose(comm, &wish, &ballot, &best, err);
	if (best) {
		loader_report(comm, best, &ballot);
		*ret_module = best->module;
	} else if (r == 0) {
		r = loader_refuse(&ballot, err);
	}
	ballot_deinit(&ballot, best);
	return r;
}

int32_t rh_comm_load_cuda(struct rh_comm *comm, const char *wanted, struct rh_comm_module *ret_module,
                          struct rh_comm_error *err)
{
	struct loader_wish wish = {wanted, "cuda", RH_COMM_MEMORY_CUDA};
	struct ballot ballot = {.count = 0};
	bool required = strcmp(wanted, "nccl") == 0;
	struct candidate *best = NULL;
	int32_t r;

	*ret_module = (struct rh_comm_module){0};
	if (!required && strcmp(wanted, "auto") != 0) {
		(void)snprintf(comm->cuda.why, sizeof(comm->cuda.why), "the backend was chosen to be %s", wanted);
		return 0;
	}
	ballot_add(comm, &wish, "nccl", &ballot);
	if (!required)
		ballot_add_foreign(comm, &wish, &ballot);
	r = loader_choose(comm, &wish, &ballot, &best, err);
	if (best)
		*ret_module = best->module;
	else
		(void)snprintf(comm->cuda.why, sizeof(comm->cuda.why), "nccl: %s", ballot.items[0].why);
	ballot_deinit(&ballot, best);
	return r == 0 && required && !best ? loader_refuse(&ballot, err) : r;
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
