/* SPDX-License-Identifier: Apache-2.0 */
/* Selection of backends: each rank votes on all that it can load, and all ranks select the same one. */
#include "comm/core/select.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/team.h"
#include "comm/core/error.h"

#define PATH_ROOM 4096

/* A backend that may be chosen. */
struct candidate {
	char name[RH_COMM_NAME_MAX];
	struct rh_comm_module module; /* empty when it was refused */
	char why[RH_COMM_WHY_ROOM];   /* why it is not available; "" when it is */
	int32_t score;                /* the lowest of all ranks */
};

/* What is looked for. */
struct select_criteria {
	const char *requested;
	const char *key; /* under which the ranks vote */
	uint32_t memory; /* that it must move */
};

/* Those of this library, in the order in which equals are taken; the last one is for CUDA memory alone. */
static const char *const select_known[] = {"native", "ucx", "mpi", "nccl"};

#define KNOWN (sizeof(select_known) / sizeof(*select_known))
#define KNOWN_HOST (KNOWN - 1)
/* Most that one rank votes on: those, and others that lie where they do. */
#define CANDIDATES 16

/* What may be chosen. */
struct ballot {
	struct candidate items[CANDIDATES];
	size_t count;
};

static void select_probe(const struct rh_comm *comm, struct candidate *candidate, uint32_t memory)
{
	const struct rh_comm_backend *backend = candidate->module.backend;

	if (!backend)
		return;
	if (backend->probe(comm->rank, comm->size, candidate->why, RH_COMM_WHY_ROOM) < 0) {
		if (!candidate->why[0])
			(void)snprintf(candidate->why, RH_COMM_WHY_ROOM, "it cannot work here");
	} else if ((backend->memories & memory) == 0) {
		(void)snprintf(candidate->why, RH_COMM_WHY_ROOM, "it does not move %s memory",
		               memory == RH_COMM_MEMORY_HOST ? "host" : "CUDA");
	} else {
		candidate->why[0] = '\0';
		candidate->score = backend->score;
	}
}

/* What a rank publishes about a candidate. */
struct select_vote_item {
	char name[RH_COMM_NAME_MAX];
	char why[RH_COMM_WHY_ROOM];
	int32_t score;
};

/* What it publishes about all; only existing candidates are sent. */
struct select_vote {
	char requested[RH_COMM_NAME_MAX];
	struct select_vote_item words[CANDIDATES];
};

static const struct select_vote_item *vote_find(const struct select_vote *vote, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strncmp(vote->words[i].name, name, RH_COMM_NAME_MAX) == 0)
			return &vote->words[i];
	}
	return NULL;
}

/* Take out the candidates that a rank cannot have, naming the first such rank; of scores the lowest counts. */
static int32_t select_count(struct ballot *ballot, int32_t rank, const char *requested, struct select_vote *vote,
                            size_t words, struct rh_comm_error *err)
{
	vote->requested[RH_COMM_NAME_MAX - 1] = '\0';
	if (strcmp(vote->requested, requested) != 0)
		return rh_comm_fail(err, RH_COMM_EINVAL, rank,
		                    "this rank wants the backend \"%s\" and rank %d \"%s\": set "
		                    "RH_COMM_BACKEND the same everywhere",
		                    requested, (int)rank, vote->requested);
	for (size_t i = 0; i < ballot->count; i++) {
		struct candidate *candidate = &ballot->items[i];
		const struct select_vote_item *word = vote_find(vote, words, candidate->name);

		if (word && word->score < candidate->score)
			candidate->score = word->score;
		if ((!word || word->why[0]) && !candidate->why[0])
			(void)snprintf(candidate->why, RH_COMM_WHY_ROOM, "rank %d: %.150s", (int)rank,
			               word ? word->why : "it has no such file");
	}
	return 0;
}

static size_t select_vote_bytes(size_t words)
{
	return offsetof(struct select_vote, words) + words * sizeof(struct select_vote_item);
}

static int32_t select_agree(struct rh_comm *comm, const struct select_criteria *criteria, struct ballot *ballot,
                            struct rh_comm_error *err)
{
	struct select_vote vote = {.requested = ""};
	char key[32];
	int32_t r;

	(void)snprintf(vote.requested, sizeof(vote.requested), "%s", criteria->requested);
	for (size_t i = 0; i < ballot->count; i++) {
		vote.words[i].score = ballot->items[i].score;
		memcpy(vote.words[i].name, ballot->items[i].name, RH_COMM_NAME_MAX);
		memcpy(vote.words[i].why, ballot->items[i].why, RH_COMM_WHY_ROOM);
	}
	(void)snprintf(key, sizeof(key), "%s/%d", criteria->key, (int)comm->rank);
	r = rh_comm_put(comm, key, &vote, select_vote_bytes(ballot->count), err);
	for (int32_t rank = 0; rank < comm->size && r == 0; rank++) {
		size_t words = 0;
		int64_t n;

		(void)snprintf(key, sizeof(key), "%s/%d", criteria->key, (int)rank);
		n = rh_comm_get(comm, key, &vote, sizeof(vote), err);
		if (n >= (int64_t)select_vote_bytes(0))
			words = ((size_t)n - select_vote_bytes(0)) / sizeof(struct select_vote_item);
		for (size_t i = 0; i < words; i++)
			vote.words[i].why[RH_COMM_WHY_ROOM - 1] = '\0';
		r = n < 0 ? (int32_t)n : select_count(ballot, rank, criteria->requested, &vote, words, err);
	}
	return r;
}

static void ballot_add(const struct rh_comm *comm, const struct select_criteria *criteria, const char *name,
                       struct ballot *ballot)
{
	struct candidate *candidate = &ballot->items[ballot->count++];

	(void)snprintf(candidate->name, sizeof(candidate->name), "%s", name);
	(void)rh_comm_module_open(name, &candidate->module, candidate->why);
	select_probe(comm, candidate, criteria->memory);
}

/* @return whether a file is a foreign backend, and its name */
static bool select_is_foreign(const char *file, char *name)
{
	size_t length = strlen(file);
	size_t around = strlen(RH_COMM_FILE_PREFIX) + strlen(RH_COMM_FILE_SUFFIX);

	if (length <= around || length - around >= RH_COMM_NAME_MAX ||
	    strncmp(file, RH_COMM_FILE_PREFIX, strlen(RH_COMM_FILE_PREFIX)) != 0 ||
	    strcmp(file + length - strlen(RH_COMM_FILE_SUFFIX), RH_COMM_FILE_SUFFIX) != 0)
		return false;
	(void)snprintf(name, RH_COMM_NAME_MAX, "%.*s", (int)(length - around), file + strlen(RH_COMM_FILE_PREFIX));
	for (size_t i = 0; i < KNOWN; i++) {
		if (strcmp(select_known[i], name) == 0)
			return false;
	}
	return true;
}

static int select_filter(const struct dirent *entry)
{
	char name[RH_COMM_NAME_MAX];

	return select_is_foreign(entry->d_name, name);
}

/* Those of others that lie where ours do, by name: equals are taken in the same order on all ranks. */
static void ballot_add_foreign(const struct rh_comm *comm, const struct select_criteria *criteria,
                               struct ballot *ballot)
{
	struct dirent **entries = NULL;
	char folder[PATH_ROOM];
	char name[RH_COMM_NAME_MAX];
	int count;

	rh_comm_module_folder(folder, sizeof(folder));
	count = folder[0] ? scandir(folder, &entries, select_filter, alphasort) : 0;
	for (int i = 0; i < count; i++) {
		if (ballot->count < CANDIDATES && select_is_foreign(entries[i]->d_name, name))
			ballot_add(comm, criteria, name, ballot);
		free(entries[i]);
	}
	free(entries);
}

static struct candidate *select_best(struct ballot *ballot)
{
	struct candidate *best = NULL;

	for (size_t i = 0; i < ballot->count; i++) {
		struct candidate *candidate = &ballot->items[i];

		if (!candidate->why[0] && (!best || candidate->score > best->score))
			best = candidate;
	}
	return best;
}

/* One line with the selected backend, and why the others were not. */
static void select_report(const struct rh_comm *comm, const struct candidate *best, const struct ballot *ballot)
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

static int32_t select_refuse(const struct ballot *ballot, struct rh_comm_error *err)
{
	const struct candidate *first = &ballot->items[0];

	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
	                    ballot->count == 1 ? "the backend %s is not available: %s" : "no backend is available; %s: %s",
	                    first->name, first->why);
}

/* The one that is best for all ranks. @return 0, and an empty module when there is none; RH_COMM_E* */
static int32_t select_choose(struct rh_comm *comm, const struct select_criteria *criteria, struct ballot *ballot,
                             struct candidate **ret_best, struct rh_comm_error *err)
{
	int32_t r = comm->size > 1 ? select_agree(comm, criteria, ballot, err) : 0;

	*ret_best = r == 0 ? select_best(ballot) : NULL;
	return r;
}

/* All but the one that was chosen go. */
static void ballot_deinit(struct ballot *ballot, const struct candidate *best)
{
	for (size_t i = 0; i < ballot->count; i++) {
		if (&ballot->items[i] != best)
			rh_comm_module_close(&ballot->items[i].module);
	}
}

int32_t rh_comm_select(struct rh_comm *comm, const char *requested, struct rh_comm_module *ret_module,
                       struct rh_comm_error *err)
{
	struct select_criteria criteria = {requested, "backend", RH_COMM_MEMORY_HOST};
	struct ballot ballot = {.count = 0};
	struct candidate *best = NULL;
	int32_t r;

	if (strlen(requested) >= RH_COMM_NAME_MAX || strchr(requested, '/'))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "\"%.40s\" is not a valid name of a backend",
		                    requested);
	if (strcmp(requested, "auto") == 0) {
		for (size_t i = 0; i < KNOWN_HOST; i++)
			ballot_add(comm, &criteria, select_known[i], &ballot);
		ballot_add_foreign(comm, &criteria, &ballot);
	} else {
		/* nccl moves no host memory; that all want it is agreed on all the same */
		ballot_add(comm, &criteria, strcmp(requested, "nccl") == 0 ? "native" : requested, &ballot);
	}
	r = select_choose(comm, &criteria, &ballot, &best, err);
	if (best) {
		select_report(comm, best, &ballot);
		*ret_module = best->module;
	} else if (r == 0) {
		r = select_refuse(&ballot, err);
	}
	ballot_deinit(&ballot, best);
	return r;
}

int32_t rh_comm_select_cuda(struct rh_comm *comm, const char *requested, struct rh_comm_module *ret_module,
                            struct rh_comm_error *err)
{
	struct select_criteria criteria = {requested, "cuda", RH_COMM_MEMORY_CUDA};
	struct ballot ballot = {.count = 0};
	bool required = strcmp(requested, "nccl") == 0;
	struct candidate *best = NULL;
	int32_t r;

	*ret_module = (struct rh_comm_module){0};
	if (!required && strcmp(requested, "auto") != 0) {
		(void)snprintf(comm->cuda.why, sizeof(comm->cuda.why), "the backend was chosen to be %s", requested);
		return 0;
	}
	ballot_add(comm, &criteria, "nccl", &ballot);
	if (!required)
		ballot_add_foreign(comm, &criteria, &ballot);
	r = select_choose(comm, &criteria, &ballot, &best, err);
	if (best)
		*ret_module = best->module;
	else
		(void)snprintf(comm->cuda.why, sizeof(comm->cuda.why), "nccl: %s", ballot.items[0].why);
	ballot_deinit(&ballot, best);
	return r == 0 && required && !best ? select_refuse(&ballot, err) : r;
}
