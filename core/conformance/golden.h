/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file conformance/golden.h
 * @brief Golden cases: the objects of an author's jobs, recorded and compared.
 */
#ifndef RH_CONFORMANCE_GOLDEN_H
#define RH_CONFORMANCE_GOLDEN_H

#include "config/config.h"
#include "conformance/board.h"
#include "job/manifest.h"

/**
 * Make the objects of each job, as a controller would create them, in a process that may crash.
 * @param fd gets a JSON array: an object with "name" ("pytorchjob-mnist.yaml") and "text" for each job
 * @return 0, RH_EPLUGIN or RH_EINVAL (the message is for a finding), RH_EIO or RH_ENOMEM
 */
int rh_golden_render(const struct rh_config *config, const char *file, const struct rh_manifest *jobs, int fd,
                     struct rh_error *err);
/** Write the texts of @p rendered, what rh_golden_render() gave, into files of @p folder. @return 0, RH_EIO, RH_ENOMEM
 */
int rh_golden_record(const struct rh_json *rendered, const char *folder, struct rh_error *err);
/** Compare with the files of @p folder; what differs is a finding. @return 0, RH_EIO, RH_EINVAL or RH_ENOMEM */
int rh_golden_compare(struct rh_board *board, const struct rh_json *rendered, const char *folder, struct rh_error *err);

#endif
