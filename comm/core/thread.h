/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/thread.h
 * @brief Threads of the library.
 */
#ifndef RH_COMM_CORE_THREAD_H
#define RH_COMM_CORE_THREAD_H

#include <pthread.h>

/** Start a thread that gets none of the process's signals. @return 0 or an errno number */
int rh_comm_thread_start(pthread_t *ret_thread, void *(*fn)(void *arg), void *arg);
/** @return how many processors this process may use: its affinity, and its cgroup's quota rounded up; at least 1 */
int rh_comm_processors(void);

#endif
