/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "roundhouse/status.h"

/* A tree that still grows after so many passes is left to the next call. */
#define TREE_ROUNDS_MAX 50

/* Fields of a process's stat. */
struct tree_stat {
	char state;
	pid_t parent;
	pid_t session;
};

void rh_shim_tree_deinit(struct rh_shim_tree *tree)
{
	rh_free(tree->items);
	*tree = (struct rh_shim_tree){0};
}

static void tree_read(const char *path, struct rh_str *ret_text)
{
	rh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[4096];
	ssize_t n;

	rh_str_clear(ret_text);
	while (fd >= 0 && (n = read(fd, buffer, sizeof(buffer))) > 0)
		rh_str_append_bytes(ret_text, buffer, (size_t)n);
}

/* The name in parentheses can hold anything, so the other fields start after the last one. */
static bool tree_stat(pid_t pid, struct tree_stat *ret_stat)
{
	char path[64];
	char text[1024];
	rh_auto_close int fd = -1;
	const char *after;
	ssize_t n;
	int parent;
	int group;
	int session;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0)
		return false;
	text[n] = '\0';
	after = strrchr(text, ')');
	if (!after || sscanf(after + 1, " %c %d %d %d", &ret_stat->state, &parent, &group, &session) != 4)
		return false;
	ret_stat->parent = parent;
	ret_stat->session = session;
	return true;
}

static bool tree_stat_lives(const struct tree_stat *stat)
{
	return stat->state != 'Z' && stat->state != 'X';
}

static bool tree_has(const struct rh_shim_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->items[i].pid == pid)
			return true;
	}
	return false;
}

static int tree_append(struct rh_shim_tree *tree, const struct rh_shim_process *process)
{
	if (tree->count == tree->capacity) {
		size_t capacity = tree->capacity > 0 ? tree->capacity * 2 : 16;
		struct rh_shim_process *items = rh_realloc_array(tree->items, capacity, sizeof(*items));

		if (!items)
			return RH_ENOMEM;
		tree->items = items;
		tree->capacity = capacity;
	}
	tree->items[tree->count++] = *process;
	return 0;
}

/* Add `pid`, which was seen below item `above`; it may have ended, or be another process by now. */
static int tree_add(struct rh_shim_tree *tree, pid_t pid, size_t above)
{
	pid_t parent = above == SIZE_MAX ? getpid() : tree->items[above].pid;
	struct rh_shim_process process = {.pid = pid, .parent = parent, .above = above, .owner = -1};
	struct tree_stat stat;

	if (!tree_stat(pid, &stat) || !tree_stat_lives(&stat) || tree_has(tree, pid))
		return 0;
	if (stat.parent != parent) {
		if (stat.parent != getpid())
			return 0;
		process.parent = getpid();
		process.above = SIZE_MAX;
	}
	process.session = stat.session;
	return tree_append(tree, &process);
}

/* The children of one thread: "12 34 56 ". */
static int tree_add_listed(struct rh_shim_tree *tree, const char *list, size_t above)
{
	char *end = NULL;
	int r = 0;

	for (long pid = strtol(list, &end, 10); pid > 0 && r == 0; pid = strtol(list, &end, 10)) {
		r = tree_add(tree, (pid_t)pid, above);
		list = end;
	}
	return r;
}

/* Add the children of all threads of `pid`. */
static int tree_add_children(struct rh_shim_tree *tree, pid_t pid, size_t above, struct rh_str *text)
{
	char path[96];
	const struct dirent *entry;
	DIR *folder;
	int r = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	while (folder && r == 0 && (entry = readdir(folder))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, entry->d_name);
		tree_read(path, text);
		r = text->failed ? RH_ENOMEM : tree_add_listed(tree, rh_str_text(text), above);
	}
	if (folder)
		(void)closedir(folder);
	return r;
}

/* Kernels without CONFIG_PROC_CHILDREN: look at every process for those whose parent is `parent`. */
static int tree_add_from_all(struct rh_shim_tree *tree, pid_t parent, size_t above)
{
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	struct tree_stat stat;
	int r = 0;

	while (folder && r == 0 && (entry = readdir(folder))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;

		if (pid > 0 && tree_stat(pid, &stat) && stat.parent == parent)
			r = tree_add(tree, pid, above);
	}
	if (folder)
		(void)closedir(folder);
	return r;
}

static bool tree_kernel_lists_children(void)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return access(path, R_OK) == 0;
}

int rh_shim_tree_scan(struct rh_shim_tree *tree)
{
	bool listed = tree_kernel_lists_children();
	rh_auto_str text = {0};
	pid_t parent = getpid();
	size_t above = SIZE_MAX;
	int r;

	tree->count = 0;
	do {
		r = listed ? tree_add_children(tree, parent, above, &text) : tree_add_from_all(tree, parent, above);
		above = above == SIZE_MAX ? 0 : above + 1;
		if (above < tree->count)
			parent = tree->items[above].pid;
	} while (r == 0 && above < tree->count);
	return r;
}

/* An old kernel has no pidfd: then the process ID can be reused between the check and the kill. */
static void tree_send(pid_t pid, int fd, int number)
{
	if (fd >= 0)
		(void)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0);
	else
		(void)kill(pid, number);
}

void rh_shim_tree_signal(const struct rh_shim_process *process, int number)
{
	rh_auto_close int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	struct tree_stat stat;

	if (fd < 0 && errno == ESRCH)
		return;
	/* the descriptor holds on to one process; that it is still below us shows that it is the one that was seen */
	if (tree_stat(process->pid, &stat) && tree_stat_lives(&stat) &&
	    (stat.parent == process->parent || stat.parent == getpid()))
		tree_send(process->pid, fd, number);
}

size_t rh_shim_tree_signal_all(int number)
{
	rh_auto_shim_tree signalled = {0};
	rh_auto_shim_tree tree = {0};
	size_t before;
	int rounds = 0;

	do {
		before = signalled.count;
		(void)rh_shim_tree_scan(&tree);
		for (size_t i = 0; i < tree.count; i++) {
			if (tree_has(&signalled, tree.items[i].pid))
				continue;
			rh_shim_tree_signal(&tree.items[i], number);
			if (tree_append(&signalled, &tree.items[i]) < 0)
				return signalled.count;
		}
	} while (signalled.count > before && ++rounds < TREE_ROUNDS_MAX);
	return signalled.count;
}

bool rh_shim_tree_has_entry(pid_t pid, const char *entry)
{
	rh_auto_str text = {0};
	char path[64];
	size_t at = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	tree_read(path, &text);
	if (text.failed)
		return false;
	while (at < text.length) {
		if (strcmp(text.data + at, entry) == 0)
			return true;
		at += strlen(text.data + at) + 1;
	}
	return false;
}
