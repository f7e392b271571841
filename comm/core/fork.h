/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/fork.h
 * @brief Connections that a child of fork() must close.
 *
 * A closed connection means a dead process: that is how the other ranks learn of a death at once. A forked child, as
 * data loaders create them, inherits all descriptors, and would keep the connections of a dead parent open for as long
 * as it lives itself. So it closes its copies directly after fork().
 */
#ifndef RH_COMM_CORE_FORK_H
#define RH_COMM_CORE_FORK_H

/** Handlers of one owner of connections, as those of pthread_atfork(). Called by the thread that forks. */
struct rh_comm_fork_handler {
	struct rh_comm_fork_handler *next;
	void (*prepare)(void *self); /**< before fork(): take the locks */
	void (*parent)(void *self);  /**< in the parent, after fork(): release them */
	void (*child)(void *self);   /**< in the child: close the parent's connections. Async-signal-safe */
	void *self;
};

/** Call the handlers at every fork() from now on. Any thread. @param handler borrowed until
 * rh_comm_fork_handler_remove() */
void rh_comm_fork_handler_add(struct rh_comm_fork_handler *handler);
/** Undo rh_comm_fork_handler_add(). A handler that was never added is ignored. */
void rh_comm_fork_handler_remove(struct rh_comm_fork_handler *handler);

#endif
