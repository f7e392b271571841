/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/tree.h
 * @brief The descendants of this process: found, told apart, signalled. For the shim alone.
 *
 * A child subreaper keeps every descendant below itself, whatever it does to its session or parents, so /proc tells
 * them all. It tells them while they fork and end: every answer may be old, so who wants them all gone asks again until
 * there is no child left.
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
	size_t above; /**< number of its parent among the items; SIZE_MAX: a child of this process */
	int owner;    /**< for the owner of the tree: free to use, -1 at first */
};

/** Descendants, parents before children. All zero is empty. */
struct rh_shim_tree {
	struct rh_shim_process *items;
	size_t count;
	size_t capacity;
};

/** Free what @p tree holds and make it empty. */
void rh_shim_tree_deinit(struct rh_shim_tree *tree);
/** Look at /proc. Descendants that are zombies are left out. @return 0 or RH_ENOMEM, then @p tree holds a part */
int rh_shim_tree_scan(struct rh_shim_tree *tree);
/** Send @p number to a process, unless its place in the tree shows that its number now belongs to another one. */
void rh_shim_tree_signal(const struct rh_shim_process *process, int number);
/**
 * Send @p number once to every descendant, also to those that start while this goes on (bounded).
 * @return how many got it
 */
size_t rh_shim_tree_signal_all(int number);
/** @return whether the environment that process @p pid was started with has the entry @p entry ("NAME=value") */
bool rh_shim_tree_has_entry(pid_t pid, const char *entry);

/** A local tree that is freed when it goes out of scope. */
#define rh_auto_shim_tree __attribute__((cleanup(rh_shim_tree_deinit))) struct rh_shim_tree

#endif
