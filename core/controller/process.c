/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/process.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/os/file.h"

/* Longest file of /proc that is read here, bytes. */
#define PROCESS_FILE_MAX (64 * 1024)
/* Fields of /proc/self/stat, counted from the one after the program's name (proc(5) numbers 3). */
#define PROCESS_STAT_START 19
#define PROCESS_STAT_VIRTUAL 20
#define PROCESS_STAT_RESIDENT 21

/* @return field number @p field behind the name, which may hold anything, or -1 */
static double process_stat(const char *text, int field)
{
	const char *at = strrchr(text, ')');

	if (!at)
		return -1;
	at += strspn(at, ") ");
	while (field-- > 0) {
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return *at ? strtod(at, NULL) : -1;
}

static double process_boot_time(void)
{
	rh_auto_free char *text = NULL;
	const char *line;

	if (rh_file_read("/proc/stat", (size_t)PROCESS_FILE_MAX * 64, &text, NULL, NULL) < 0)
		return 0;
	line = strstr(text, "\nbtime ");
	return line ? strtod(line + strlen("\nbtime "), NULL) : 0;
}

static void process_measure_stat(struct rh_metrics *metrics)
{
	rh_auto_free char *text = NULL;
	double ticks = (double)sysconf(_SC_CLK_TCK);
	double page = (double)sysconf(_SC_PAGESIZE);
	double start;
	double boot;

	if (rh_file_read("/proc/self/stat", PROCESS_FILE_MAX, &text, NULL, NULL) < 0)
		return;
	rh_metrics_set(metrics, RH_METRIC_PROCESS_VIRTUAL, NULL, process_stat(text, PROCESS_STAT_VIRTUAL));
	rh_metrics_set(metrics, RH_METRIC_PROCESS_RESIDENT, NULL, process_stat(text, PROCESS_STAT_RESIDENT) * page);
	start = process_stat(text, PROCESS_STAT_START);
	boot = process_boot_time();
	if (boot > 0 && start >= 0)
		rh_metrics_set(metrics, RH_METRIC_PROCESS_START, NULL, boot + start / ticks);
}

static double process_seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void process_measure_files(struct rh_metrics *metrics)
{
	DIR *dir = opendir("/proc/self/fd");
	struct rlimit limit;
	int count = -3; /* ".", ".." and the one that reads */

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		rh_metrics_set(metrics, RH_METRIC_PROCESS_MAX_FILES, NULL, (double)limit.rlim_cur);
	if (!dir)
		return;
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	rh_metrics_set(metrics, RH_METRIC_PROCESS_FILES, NULL, count);
}

void rh_process_measure(struct rh_metrics *metrics)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		rh_metrics_set(metrics, RH_METRIC_PROCESS_CPU, NULL,
		               process_seconds(&usage.ru_utime) + process_seconds(&usage.ru_stime));
	process_measure_stat(metrics);
	process_measure_files(metrics);
}
