/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/fork.h
 * @brief Connections that a child of fork() must not keep.
 *
 * Whose connection closes is dead: that is how the others learn of a death at once. A child that is forked, as data
 * loaders do, has copies of all descriptors, and would keep the connections of a dead parent open for as long as it
 * lives itself. So it closes its copies as soon as it is there.
 */
#ifndef RH_COMM_CORE_FORK_H
#define RH_COMM_CORE_FORK_H

/** Somebody who has such connections. The members are called by the thread that forks. */
struct rh_comm_forking {
	struct rh_comm_forking *next;
	void (*hold)(void *self);   /**< before fork(): let nothing change until release() or forget() */
	void (*let_go)(void *self); /**< in the parent, after fork() */
	void (*forget)(void *self); /**< in the child: close what is the parent's. As a signal handler may */
	void *self;
};

/** From now on every fork() asks it. @param forking borrowed until rh_comm_forking_remove() */
void rh_comm_forking_add(struct rh_comm_forking *forking);
/** No more. One that was never added is nothing. */
void rh_comm_forking_remove(struct rh_comm_forking *forking);

#endif
