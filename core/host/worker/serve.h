/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/serve.h
 * @brief The worker's side of the conversation: the plugin is loaded and described, then requests are answered.
 */
#ifndef RH_HOST_WORKER_SERVE_H
#define RH_HOST_WORKER_SERVE_H

#include <stdbool.h>

/**
 * Load the plugin file @p path, describe it, and answer requests until the host closes the socket.
 * @param has_copy descriptor RH_WORKER_COPY is a copy of the file, which is loaded in its place
 * @return the exit status of the process: 0, or 1 where the host sent nonsense or memory is out
 */
int rh_serve(const char *path, bool has_copy);

#endif
