/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/worker/serve.h
 * @brief The worker's side of the conversation: the plugin is loaded and described, then requests are answered.
 */
#ifndef RH_HOST_WORKER_SERVE_H
#define RH_HOST_WORKER_SERVE_H

/**
 * Load the plugin file @p path, say what it is, and answer requests until the host closes the socket.
 * @return the exit status of the process: 0, or 1 where the host sent nonsense or memory is out
 */
int rh_serve(const char *path);

#endif
