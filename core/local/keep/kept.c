/* SPDX-License-Identifier: Apache-2.0 */
#include "local/keep/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/keep/place.h"

/* Largest state that is read, in bytes. */
#define KEPT_STATE_MAX (64U * 1024 * 1024)
/* Names that a message lists. */
#define KEPT_NAMES_MAX 8

void rh_kept_deinit(struct rh_kept *kept)
{
	rh_free(kept->name);
	rh_free(kept->path);
	rh_json_free(kept->state);
	*kept = (struct rh_kept){0};
}

/* @return the state, or NULL: it is missing, cut or damaged */
static struct rh_json *kept_read_state(const char *path, const char *name)
{
	rh_auto_free char *file = rh_path_join(path, name);
	rh_auto_free char *text = NULL;
	struct rh_json *state = NULL;
	size_t length = 0;

	if (!file || rh_file_read(file, KEPT_STATE_MAX, &text, &length, NULL) < 0)
		return NULL;
	return rh_json_parse(text, length, &state, NULL) == 0 ? state : NULL;
}

static int64_t kept_number(const struct rh_json *state, const char *key)
{
	int64_t number = -1;

	return rh_json_integer(rh_json_get(state, key), &number) ? number : -1;
}

static int64_t kept_time(const struct rh_json *state, const char *key)
{
	const char *text = rh_json_string(rh_json_get(state, key));
	int64_t at = 0;

	return text && rh_time_parse(text, &at, NULL) == 0 ? at : 0;
}

/* A lock that anyone holds, and the very process that made the folder: then the run goes on. */
static bool kept_lives(const char *path, const struct rh_json *state)
{
	rh_auto_free char *lock = rh_path_join(path, RH_KEEP_LOCK);
	rh_auto_close int fd = lock ? open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return false;
	return rh_keep_is_process(kept_number(state, "pid"), kept_number(state, "pidStart"));
}

static int64_t kept_written(const char *path, const char *name)
{
	rh_auto_free char *file = rh_path_join(path, name);
	struct stat st;

	return file && stat(file, &st) == 0 ? (int64_t)st.st_mtim.tv_sec * RH_SECOND + st.st_mtim.tv_nsec / 1000 : 0;
}

/* Samples come also while nothing happens. */
static int64_t kept_last_sign(const char *path)
{
	int64_t event = kept_written(path, RH_KEEP_EVENTS);
	int64_t sample = kept_written(path, RH_KEEP_SAMPLES);

	return sample > event ? sample : event;
}

static void kept_judge(struct rh_kept *kept)
{
	kept->started_at = kept_time(kept->state, "startedAt");
	kept->ended_at = kept_time(kept->state, "endedAt");
	if (!kept->state || kept_number(kept->state, "version") > RH_KEEP_VERSION) {
		kept->life = RH_KEPT_UNREAD;
	} else if (rh_json_get(kept->state, "result")) {
		kept->life = RH_KEPT_ENDED;
	} else if (kept_lives(kept->path, kept->state)) {
		kept->life = RH_KEPT_RUNNING;
		kept->pid = kept_number(kept->state, "pid");
	} else {
		kept->life = RH_KEPT_KILLED;
	}
	if (kept->life == RH_KEPT_KILLED)
		kept->ended_at = kept_last_sign(kept->path);
}

int rh_kept_read(const char *path, struct rh_kept *ret_kept)
{
	const char *slash = strrchr(path, '/');
	rh_auto_kept kept = {.name = rh_strdup(slash ? slash + 1 : path), .path = rh_strdup(path)};

	if (!kept.name || !kept.path)
		return RH_ENOMEM;
	kept.state = kept_read_state(path, RH_KEEP_STATE);
	if (!kept.state)
		kept.state = kept_read_state(path, RH_KEEP_START);
	kept_judge(&kept);
	/* it may have written its result and ended between the two checks */
	if (kept.life == RH_KEPT_KILLED) {
		struct rh_json *again = kept_read_state(path, RH_KEEP_STATE);

		if (again && rh_json_get(again, "result")) {
			rh_json_free(kept.state);
			kept.state = again;
			kept_judge(&kept);
		} else {
			rh_json_free(again);
		}
	}
	*ret_kept = kept;
	kept = (struct rh_kept){0};
	return 0;
}

void rh_kept_list_deinit(struct rh_kept_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		rh_kept_deinit(&list->items[i]);
	rh_free(list->items);
	*list = (struct rh_kept_list){NULL, 0};
}

/* The list that is being read. */
struct kept_reading {
	struct rh_kept_list *list;
	const char *runs;
};

static int kept_add(void *arg, const char *name)
{
	const struct kept_reading *reading = arg;
	struct rh_kept_list *list = reading->list;
	rh_auto_free char *path = NULL;
	struct rh_kept *grown = list->items;

	if (name[0] == RH_KEEP_HIDDEN)
		return 0;
	path = rh_path_join(reading->runs, name);
	if ((list->count & (list->count - 1)) == 0) /* a power of two is full */
		grown = rh_realloc_array(list->items, list->count ? 2 * list->count : 1, sizeof(*grown));
	if (!grown || !path)
		return RH_ENOMEM;
	list->items = grown;
	list->items[list->count] = (struct rh_kept){0};
	if (rh_kept_read(path, &list->items[list->count]) < 0)
		return RH_ENOMEM;
	list->count++;
	return 0;
}

static int kept_compare(const void *a, const void *b)
{
	const struct rh_kept *x = a;
	const struct rh_kept *y = b;

	if (x->started_at != y->started_at)
		return x->started_at < y->started_at ? 1 : -1;
	return strcmp(x->name, y->name);
}

int rh_kept_list(struct rh_kept_list *ret_list, struct rh_error *err)
{
	rh_auto_free char *runs = NULL;
	struct kept_reading reading = {.list = ret_list};
	int r = rh_keep_place(&runs, err);

	*ret_list = (struct rh_kept_list){NULL, 0};
	reading.runs = runs;
	if (r == 0)
		r = rh_keep_place_each(runs, kept_add, &reading, err);
	if (r == RH_ENOMEM)
		r = rh_fail_oom(err);
	if (ret_list->count > 1)
		qsort(ret_list->items, ret_list->count, sizeof(*ret_list->items), kept_compare);
	return r;
}

static bool kept_has_job(const struct rh_kept *kept, const char *name)
{
	const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));

	while (job && !rh_text_equal(rh_json_string(rh_json_get(job, "name")), name))
		job = rh_json_next(job);
	return job;
}

/* Better is: of that name; of that job and going on; of that job and newer. */
static struct rh_kept *kept_choose(const struct rh_kept_list *list, const char *word, bool running, size_t *ret_running)
{
	struct rh_kept *chosen = NULL;

	*ret_running = 0;
	for (size_t i = 0; i < list->count; i++) {
		struct rh_kept *kept = &list->items[i];
		bool lives = kept->life == RH_KEPT_RUNNING;

		if (strcmp(kept->name, word) == 0) {
			*ret_running = 1;
			return kept;
		}
		if (!kept_has_job(kept, word) || (running && !lives))
			continue;
		*ret_running += lives ? 1 : 0;
		if (!chosen || (lives && chosen->life != RH_KEPT_RUNNING))
			chosen = kept;
	}
	return chosen;
}

static void kept_append_names(const struct rh_kept_list *list, const char *job, bool running, struct rh_str *out)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct rh_kept *kept = &list->items[i];

		if ((running && kept->life != RH_KEPT_RUNNING) || (job && !kept_has_job(kept, job)) || ++count > KEPT_NAMES_MAX)
			continue;
		rh_str_appendf(out, "%s%s", count > 1 ? ", " : "", kept->name);
	}
	if (count > KEPT_NAMES_MAX)
		rh_str_append(out, ", ...");
}

/* @return the name of a run or a job that is nearest to a misspelt one; borrowed from the list; NULL: none is */
static const char *kept_nearest(const struct rh_kept_list *list, const char *word, bool running)
{
	const char *best = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct rh_kept *kept = &list->items[i];
		const struct rh_json *job = rh_json_first(rh_json_get(kept->state, "jobs"));
		const char *name = kept->name;

		while (name && (!running || kept->life == RH_KEPT_RUNNING)) {
			const char *const two[] = {best ? best : name, name};

			best = rh_nearest(word, two, 2);
			name = rh_json_string(rh_json_get(job, "name"));
			job = job ? rh_json_next(job) : NULL;
		}
	}
	return best;
}

static int kept_not_found(const struct rh_kept_list *list, const char *word, bool running, struct rh_error *err)
{
	const char *near = kept_nearest(list, word, running);
	rh_auto_str names = {0};

	if (near)
		return rh_fail(err, RH_ENOENT, "no %s \"%s\" is %s; did you mean \"%s\"?",
		               running ? "run of a job" : "run or job", word, running ? "going on" : "kept", near);
	kept_append_names(list, NULL, running, &names);
	return rh_fail(err, RH_ENOENT, "no %s \"%s\" is %s%s%s", running ? "run of a job" : "run or job", word,
	               running ? "going on" : "kept", names.length ? "; there are " : "; `roundhouse ls` lists all",
	               rh_str_text(&names));
}

int rh_kept_find(const char *word, bool running, struct rh_kept *ret_kept, struct rh_error *err)
{
	rh_auto_kept_list list = {NULL, 0};
	rh_auto_str names = {0};
	struct rh_kept *chosen;
	size_t count;
	int r = rh_kept_list(&list, err);

	if (r < 0)
		return r;
	chosen = kept_choose(&list, word, running, &count);
	if (!chosen)
		return kept_not_found(&list, word, running, err);
	if (running && count > 1) {
		kept_append_names(&list, word, true, &names);
		return rh_fail(err, RH_EINVAL, "%zu runs of \"%s\" go on; name one of them: %s", count, word,
		               rh_str_text(&names));
	}
	*ret_kept = *chosen;
	*chosen = (struct rh_kept){0};
	return 0;
}

const char *rh_kept_state(const struct rh_kept *kept)
{
	const char *result = rh_json_string(rh_json_get(kept->state, "result"));

	if (kept->life == RH_KEPT_RUNNING)
		return "Running";
	if (kept->life == RH_KEPT_ENDED)
		return result ? result : "Unreadable";
	return kept->life == RH_KEPT_KILLED ? "Killed" : "Unreadable";
}

char *rh_kept_logs(const struct rh_kept *kept)
{
	const char *chosen = rh_json_string(rh_json_get(kept->state, "logDir"));

	return chosen ? rh_strdup(chosen) : rh_path_join(kept->path, RH_KEEP_LOGS);
}
