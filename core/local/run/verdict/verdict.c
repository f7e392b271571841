/* SPDX-License-Identifier: Apache-2.0 */
#include "local/run/verdict/verdict.h"

#include <ctype.h>
#include <string.h>

#include "base/os/clock.h"
#include "job/pod.h"

/* Exit code that a process with an uncaught exception would have. */
#define VERDICT_RAISED 1
/* A replica with more recent output does not count as hanging. */
#define VERDICT_SILENCE RH_SECOND

/* The fault of a replica, from its output, as if it had ended: the output is read once. */
static const struct rh_evidence *verdict_read(struct rh_verdict_replica *replica)
{
	bool ended = !replica->running && !replica->succeeded;
	const struct rh_end end = {
		.exit_code = VERDICT_RAISED, .reason = "", .output = ended ? replica->lines : replica->tail};

	if (!replica->read)
		replica->evidence = rh_evidence_read(&end);
	replica->read = true;
	return &replica->evidence;
}

/* The last line that is not empty, and where it begins; text NULL: there is none. */
struct verdict_line {
	const char *text;
	size_t length;
};

static struct verdict_line verdict_line_before(const char *text, const char *end)
{
	const char *start;

	while (end > text && (unsigned char)end[-1] <= ' ')
		end--;
	start = end;
	while (start > text && start[-1] != '\n')
		start--;
	return (struct verdict_line){.text = end > start ? start : NULL, .length = (size_t)(end - start)};
}

/* Lines are alike when they differ in numbers only. */
static bool verdict_alike(struct verdict_line a, struct verdict_line b)
{
	size_t i = 0, k = 0;

	while (i < a.length && k < b.length) {
		bool number = isdigit((unsigned char)a.text[i]);

		if (number != (bool)isdigit((unsigned char)b.text[k]) || (!number && a.text[i] != b.text[k]))
			return false;
		do
			i++;
		while (number && i < a.length && isdigit((unsigned char)a.text[i]));
		do
			k++;
		while (number && k < b.length && isdigit((unsigned char)b.text[k]));
	}
	return i == a.length && k == b.length;
}

/* How many lines of the log are like @p line. */
static size_t verdict_count(const char *log, struct verdict_line line)
{
	const char *end = log + strlen(log);
	size_t count = 0;

	for (struct verdict_line next = verdict_line_before(log, end); next.text; next = verdict_line_before(log, end)) {
		count += verdict_alike(next, line);
		end = next.text;
	}
	return count;
}

/* Whether the replica is at another point than its peers: its last line occurs once, and only in its log. */
static bool verdict_is_odd(const struct rh_verdict_replica *replicas, size_t count, size_t who)
{
	const char *tail = replicas[who].tail;
	struct verdict_line line = verdict_line_before(tail, tail + strlen(tail));

	if (!line.text || verdict_count(tail, line) != 1)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (i != who && verdict_count(replicas[i].tail, line) > 0)
			return false;
	}
	return true;
}

/* The only one that runs and is odd; SIZE_MAX: none, or several. */
static size_t verdict_odd(const struct rh_verdict_replica *replicas, size_t count)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (!replicas[i].running || replicas[i].silent < VERDICT_SILENCE || !verdict_is_odd(replicas, count, i))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = i;
	}
	return found;
}

/* Whether one of the replica's last lines occurs once, and in no other log. */
static bool verdict_wrote_odd(const struct rh_verdict_replica *replicas, size_t count, size_t who)
{
	const char *lines = replicas[who].lines;
	const char *end = lines + strlen(lines);

	for (struct verdict_line line = verdict_line_before(lines, end); line.text;
	     line = verdict_line_before(lines, end)) {
		size_t found = verdict_count(replicas[who].tail, line) == 1 ? 0 : 1;

		for (size_t i = 0; i < count && found == 0; i++)
			found = i == who ? 0 : verdict_count(replicas[i].tail, line);
		if (found == 0)
			return true;
		end = line.text;
	}
	return false;
}

/* Of several whose launcher had to stop a process the only one that wrote something that no other did; else SIZE_MAX.
 */
static size_t verdict_stuck(const struct rh_verdict_replica *replicas, size_t count)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (replicas[i].blame != RH_BLAME_STUCK || !verdict_wrote_odd(replicas, count, i))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = i;
	}
	return found;
}

/* A replica that a peer names and that did not fail by itself. */
static size_t verdict_accused(struct rh_verdict_replica *replicas, size_t count, size_t *ret_by)
{
	for (size_t i = 0; i < count; i++) {
		int32_t accused = replicas[i].running ? verdict_read(&replicas[i])->accused : replicas[i].accused;

		for (size_t k = 0; accused >= 0 && k < count; k++) {
			if (replicas[k].rank != accused || !(replicas[k].running || replicas[k].succeeded))
				continue;
			*ret_by = i;
			return k;
		}
	}
	return SIZE_MAX;
}

/* One that raised something and had not ended. */
static size_t verdict_raised(struct rh_verdict_replica *replicas, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct rh_evidence *evidence = replicas[i].running ? verdict_read(&replicas[i]) : NULL;

		if (evidence && evidence->raised && evidence->blame == RH_BLAME_CAUSE)
			return i;
	}
	return SIZE_MAX;
}

static struct verdict_line verdict_headline(struct rh_verdict_replica *replica)
{
	const struct rh_evidence *evidence = verdict_read(replica);

	return (struct verdict_line){.text = evidence->headline, .length = evidence->headline_length};
}

/* Whether all replicas failed, or were about to, with the same message. */
static bool verdict_all_alike(struct rh_verdict_replica *replicas, size_t count, size_t who)
{
	struct verdict_line line = verdict_headline(&replicas[who]);

	if (count < 2 || line.length == 0 || replicas[who].running)
		return false;
	for (size_t i = 0; i < count; i++) {
		bool failed =
			replicas[i].running ? verdict_read(&replicas[i])->raised : replicas[i].blame == replicas[who].blame;

		if (!failed || !verdict_alike(verdict_headline(&replicas[i]), line))
			return false;
	}
	return true;
}

/* The earliest failure with the strongest evidence, if the engine has none. */
static size_t verdict_worst(const struct rh_verdict_replica *replicas, size_t count)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct rh_verdict_replica *best = found < count ? &replicas[found] : NULL;

		if (replicas[i].blame == RH_BLAME_NONE)
			continue;
		if (!best || replicas[i].blame < best->blame || (replicas[i].blame == best->blame && replicas[i].at < best->at))
			found = i;
	}
	return found;
}

/* Whether it runs, and has not written yet that it is itself a victim. */
static bool verdict_is_missing(struct rh_verdict_replica *replica)
{
	return replica->running && !rh_blame_is_consequence(verdict_read(replica)->blame);
}

/*
 * The replica that its peers miss, if there is only one candidate. A time-out points to a running replica; a closed
 * connection to one that has ended, or is about to.
 */
static size_t verdict_missed(struct rh_verdict_replica *replicas, size_t count, enum rh_blame blame)
{
	size_t running = 0, done = 0, one = SIZE_MAX, well = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		bool missing = verdict_is_missing(&replicas[i]);

		running += missing;
		done += replicas[i].succeeded;
		one = missing ? i : one;
		well = replicas[i].succeeded ? i : well;
	}
	if (done == 1 && (blame != RH_BLAME_LATE || running == 0))
		return well;
	return running == 1 ? one : SIZE_MAX;
}

/* The one that runs and wrote last; SIZE_MAX: there is none. */
static size_t verdict_latest(const struct rh_verdict_replica *replicas, size_t count)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (replicas[i].running && (found == SIZE_MAX || replicas[i].silent < replicas[found].silent))
			found = i;
	}
	return found;
}

/* Of several replicas that timed out, none is the missing one. */
static bool verdict_is_alone(const struct rh_verdict_replica *replicas, size_t count, size_t who)
{
	enum rh_blame blame = replicas[who].blame;

	for (size_t i = 0; i < count && (blame == RH_BLAME_LATE || blame == RH_BLAME_STUCK); i++) {
		if (i != who && replicas[i].blame == blame)
			return false;
	}
	return true;
}

/* A replica did not join, or hangs: the one that its peers missed. */
static void verdict_find_missed(struct rh_verdict_replica *replicas, size_t count, struct rh_blamed *blamed)
{
	size_t failed = blamed->who;
	bool runs = verdict_latest(replicas, count) != SIZE_MAX;
	size_t who = verdict_accused(replicas, count, &blamed->by);

	if (who == SIZE_MAX)
		who = failed != SIZE_MAX || count == 1 ? verdict_missed(replicas, count, blamed->blame) : SIZE_MAX;
	if (who == SIZE_MAX)
		who = verdict_odd(replicas, count);
	if (who != SIZE_MAX) {
		blamed->blame = RH_BLAME_HUNG;
		blamed->who = who;
		blamed->named = true;
		blamed->by = blamed->by == SIZE_MAX ? failed : blamed->by;
		return;
	}
	if (failed != SIZE_MAX && blamed->blame == RH_BLAME_STUCK) {
		who = verdict_stuck(replicas, count);
		blamed->who = who == SIZE_MAX ? failed : who;
		blamed->named = who != SIZE_MAX || verdict_is_alone(replicas, count, failed);
		return;
	}
	if (failed == SIZE_MAX) {
		blamed->blame = RH_BLAME_HUNG;
		blamed->who = verdict_latest(replicas, count);
		return;
	}
	blamed->named = blamed->blame == RH_BLAME_UNREACHED || blamed->blame == RH_BLAME_SUMMARY ||
	                (!runs && verdict_is_alone(replicas, count, failed));
}

struct rh_blamed rh_verdict(struct rh_verdict_replica *replicas, size_t count, size_t known)
{
	struct rh_blamed blamed = {.who = known, .by = SIZE_MAX};

	size_t worst = verdict_worst(replicas, count);

	/* a replica that is recorded only because others missed it has not failed itself; and an earlier end may have
	 * better evidence than the last
	 */
	if (known == SIZE_MAX || replicas[known].blame == RH_BLAME_NONE ||
	    (rh_blame_is_consequence(replicas[known].blame) && replicas[worst].blame < replicas[known].blame))
		blamed.who = worst;
	if (blamed.who != SIZE_MAX)
		blamed.blame = replicas[blamed.who].blame;
	if (blamed.who == SIZE_MAX || rh_blame_is_consequence(blamed.blame)) {
		size_t raised = verdict_raised(replicas, count);

		if (raised != SIZE_MAX) {
			blamed.who = raised;
			blamed.blame = RH_BLAME_CAUSE;
			blamed.named = true;
		} else {
			verdict_find_missed(replicas, count, &blamed);
		}
	} else {
		blamed.named = true;
	}
	if (blamed.who == SIZE_MAX)
		return blamed;
	blamed.alike = blamed.blame != RH_BLAME_HUNG && blamed.blame != RH_BLAME_STUCK &&
	               verdict_all_alike(replicas, count, blamed.who);
	blamed.named = blamed.named && !blamed.alike;
	blamed.evidence = *verdict_read(&replicas[blamed.who]);
	return blamed;
}

void rh_verdict_lines(const struct rh_verdict_replica *replica, const struct rh_blamed *blamed, struct rh_str *out)
{
	bool raised = blamed->blame != RH_BLAME_HUNG;
	const struct rh_end end = {.exit_code = raised ? VERDICT_RAISED : 0, .reason = "", .output = replica->tail};

	if (raised && !replica->running && *replica->lines)
		rh_str_append(out, replica->lines);
	else
		rh_evidence_excerpt(&end, RH_LAST_LINES_MAX, out);
}
