/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/sandbox.h
 * @brief What the worker process of a plugin gives up before it loads the plugin.
 *
 * Each step tightens the process for good. A kernel without seccomp leaves out the filter; all else holds everywhere.
 */
#ifndef RH_HOST_WORKER_SANDBOX_H
#define RH_HOST_WORKER_SANDBOX_H

/**
 * Before the plugin is loaded: end with @p parent, no capabilities, no new privileges, 2 GiB of address space, no core
 * dump, no file writes; and system calls alone that loading and computing need: no socket, no process, no program, no
 * signal to others, no file that is opened for writing.
 * @param parent process that started this one. @return 0, or -1 when @p parent is gone
 */
int rh_sandbox_enter(int parent);
/** Once the plugin is loaded: no file is opened any more. */
void rh_sandbox_close_files(void);

#endif
