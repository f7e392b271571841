/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays what a container did, in its place: usage: replay FOLDER [CONTAINER]. FOLDER/POD, POD being $HOSTNAME, with
 * ".CONTAINER" where it is given, says what to do, one step a line (times in microseconds since all replicas of the job
 * have started):
 *
 *   meet COUNT       the replicas of the job, in FOLDER/JOB.meet.ATTEMPT; first
 *   out AT LENGTH    and LENGTH bytes of output follow
 *   file AT LENGTH   and LENGTH bytes follow for the file of TORCHELASTIC_ERROR_FILE, where that is set
 *   exit AT CODE | signal AT NUMBER | hang
 *   term             SIGTERM leads to what follows, with times since the signal; without it the signal ends the process
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX 65536
#define WAIT_STEP 2000
/* A step that comes later than this was not played as it was recorded: the order of replicas may be another one. The
 * pauses of recording.py leave 20 ms between two ends that are a pause apart. */
#define LATE_US 20000
/* Replicas that are started again do not all come again. */
#define LATER_MEETING_US 1000000

struct play {
	FILE *steps;
	const char *folder;
	const char *pod; /* and container */
	int64_t begin;
	long term; /* place of the steps that follow SIGTERM, or -1 */
};

static int64_t play_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void play_fail(const char *what)
{
	perror(what);
	_exit(111);
}

static void play_die(int number)
{
	const struct rlimit no_core = {0, 0};
	sigset_t all;

	(void)setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	kill(getpid(), number);
	pause();
}

/* SIGTERM came: go on with the steps for it, or end of it. */
static void play_terminated(struct play *play)
{
	if (play->term < 0)
		play_die(SIGTERM);
	if (fseek(play->steps, play->term, SEEK_SET) < 0)
		play_fail("fseek");
	play->term = -1;
	play->begin = play_now();
}

/* Says so in FOLDER/POD.late. */
static void play_note_late(const struct play *play)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/%s.late", play->folder, play->pod);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (file >= 0)
		close(file);
}

/* Returns whether SIGTERM came before @p at, and the steps are others now. */
static bool play_wait(struct play *play, int64_t at)
{
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	for (;;) {
		int64_t left = play->begin + at - play_now();
		struct timespec pause = {.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};

		if (left < -LATE_US)
			play_note_late(play);
		if (left <= 0)
			return false;
		if (sigtimedwait(&term, NULL, &pause) == SIGTERM) {
			play_terminated(play);
			return true;
		}
	}
}

/* How often this pod's container was started before; a byte for each start. */
static int64_t play_attempt(const struct play *play)
{
	char path[4096];
	struct stat info = {0};
	int file;

	snprintf(path, sizeof(path), "%s/%s.starts", play->folder, play->pod);
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (file < 0 || fstat(file, &info) < 0 || write(file, "+", 1) != 1)
		play_fail(path);
	close(file);
	return info.st_size;
}

/* All write when they came, and begin when the last one has come and all have seen it. */
static void play_meet(struct play *play, const char *job, size_t count)
{
	int64_t attempt = play_attempt(play), mine = play_now(), came[64] = {0};
	int64_t limit = attempt ? mine + LATER_MEETING_US : INT64_MAX;
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/%s.meet.%" PRId64, play->folder, job, attempt);
	file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (file < 0 || count > 64 || write(file, &mine, sizeof(mine)) != sizeof(mine))
		play_fail(path);
	play->begin = mine;
	while (play_now() < limit) {
		ssize_t got = pread(file, came, count * sizeof(*came), 0);

		if (got == (ssize_t)(count * sizeof(*came)))
			break;
		(void)play_wait(play, play_now() - play->begin + WAIT_STEP);
	}
	for (size_t place = 0; place < count; place++) {
		if (came[place] > play->begin)
			play->begin = came[place];
	}
	play->begin += 2 * WAIT_STEP;
	close(file);
}

static void play_write(int file, const char *text, size_t length)
{
	while (length > 0) {
		ssize_t wrote = write(file, text, length);

		if (wrote < 0 && errno != EINTR)
			play_fail("write");
		text += wrote > 0 ? wrote : 0;
		length -= wrote > 0 ? (size_t)wrote : 0;
	}
}

static void play_text(struct play *play, const char *kind, int64_t at, size_t length)
{
	static char text[TEXT_MAX];
	const char *path = getenv("TORCHELASTIC_ERROR_FILE");
	int file = STDOUT_FILENO;

	if (length > sizeof(text) || fread(text, 1, length, play->steps) != length)
		play_fail("text");
	if (play_wait(play, at))
		return;
	if (strcmp(kind, "file") == 0)
		file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	if (file >= 0)
		play_write(file, text, length);
	if (file > STDOUT_FILENO)
		close(file);
}

/* Says so in FOLDER/POD.hangs, and does nothing until a signal comes. */
static void play_hang(struct play *play)
{
	char path[4096];
	int file;

	snprintf(path, sizeof(path), "%s/%s.hangs", play->folder, play->pod);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (file >= 0)
		close(file);
	(void)play_wait(play, INT64_MAX / 4);
}

static void play_step(struct play *play, const char *line)
{
	char kind[16] = "", job[512] = "";
	int64_t at = 0, value = 0;

	if (strcmp(line, "hang\n") == 0 || strcmp(line, "term\n") == 0) {
		play_hang(play);
	} else if (sscanf(line, "meet %" SCNd64 " %511s", &value, job) == 2) {
		play_meet(play, job, (size_t)value);
	} else if (sscanf(line, "%15s %" SCNd64 " %" SCNd64, kind, &at, &value) != 3) {
		play_fail(line);
	} else if (strcmp(kind, "out") == 0 || strcmp(kind, "file") == 0) {
		play_text(play, kind, at, (size_t)value);
	} else if (!play_wait(play, at)) {
		if (strcmp(kind, "signal") == 0)
			play_die((int)value);
		_exit((int)value);
	}
}

/* Looks for the steps of SIGTERM: outputs are skipped by their length. */
static long play_find_term(FILE *steps)
{
	char line[600], kind[16];
	int64_t at, length;

	while (fgets(line, sizeof(line), steps)) {
		if (strcmp(line, "term\n") == 0)
			return ftell(steps);
		if (sscanf(line, "%15s %" SCNd64 " %" SCNd64, kind, &at, &length) == 3 &&
		    (strcmp(kind, "out") == 0 || strcmp(kind, "file") == 0) && fseek(steps, (long)length, SEEK_CUR) < 0)
			return -1;
	}
	return -1;
}

int main(int argc, char **argv)
{
	const char *pod = getenv("HOSTNAME");
	struct play play = {.folder = argc >= 2 ? argv[1] : "."};
	char text[4096], name[512];
	sigset_t term;

	snprintf(name, sizeof(name), "%s%s%s", pod ? pod : "", argc == 3 ? "." : "", argc == 3 ? argv[2] : "");
	play.pod = name;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	snprintf(text, sizeof(text), "%s/%s", play.folder, play.pod);
	play.steps = fopen(text, "re");
	if (!play.steps)
		play_fail(text);
	play.term = play_find_term(play.steps);
	rewind(play.steps);
	while (fgets(text, sizeof(text), play.steps))
		play_step(&play, text);
	return 111;
}
