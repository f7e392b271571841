/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ucx/folder.h
 * @brief The folder in which UCX names the shared memory of a context.
 */
#ifndef RH_COMM_UCX_FOLDER_H
#define RH_COMM_UCX_FOLDER_H

#include "comm/ucx/context.h"

/** Create the folder, and remove those of dead processes. Without it UCX uses its own. */
void ucx_folder_make(struct ucx *ucx);
/** Remove it, and those of dead processes. */
void ucx_folder_remove(struct ucx *ucx);

#endif
