/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/tree.h
 * @brief Finds, identifies and signals the descendants of this process. For the shim alone.
 *
 * Every descendant of a child subreaper stays below it, whatever it does to its session or parents, so /proc lists them
 * all. Processes fork and end during a scan, so a list may be outdated: to end all of them, repeat until no child is
 * left.
 */
#ifndef RH_LOCAL_SHIM_TREE_H
#define RH_LOCAL_SHIM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/mem.h"

/** One living descendant. */
struct rh_shim_process {
	pid_t pid;
	pid_t parent;
	pid_t session;
	size_t above; /**< index of its parent in the items; SIZE_MAX: a child of this process */
	int owner;    /**< for the owner of the tree; initially -1 */
};

/** Descendants, parents before children. All zero is empty. */
struct rh_shim_tree {
	struct rh_shim_process *items;
	size_t count;
	size_t capacity;
};

/** Free what @p tree owns and make it empty. */
void rh_shim_tree_deinit(struct rh_shim_tree *tree);
/** Scan /proc; zombies are left out. @return 0, or RH_ENOMEM: then @p tree is incomplete */
int rh_shim_tree_scan(struct rh_shim_tree *tree);
/** Send signal @p number to a process, unless its ID belongs to another process now. */
void rh_shim_tree_signal(const struct rh_shim_process *process, int number);
/**
 * Send signal @p number once to every descendant, also to those that start meanwhile (bounded).
 * @return number of processes that got it
 */
size_t rh_shim_tree_signal_all(int number);
/** @return whether the initial environment of process @p pid has the entry @p entry ("NAME=value") */
bool rh_shim_tree_has_entry(pid_t pid, const char *entry);

/** A local tree that is freed when it goes out of scope. */
#define rh_auto_shim_tree __attribute__((cleanup(rh_shim_tree_deinit))) struct rh_shim_tree

#endif
