/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/request/service.h
 * @brief The service thread of a world.
 */
#ifndef RH_COMM_CORE_REQUEST_SERVICE_H
#define RH_COMM_CORE_REQUEST_SERVICE_H

/**
 * Serve the connection to the rendezvous server, send heartbeats, and make progress in contexts in which no thread
 * waits, until world->stop is set. @param arg a struct rh_comm_world. @return NULL
 */
void *rh_comm_service_run(void *arg);

#endif
