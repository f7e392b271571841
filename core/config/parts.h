/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file config/parts.h
 * @brief What the files of config/ share. Private to config/.
 */
#ifndef RH_CONFIG_PARTS_H
#define RH_CONFIG_PARTS_H

/**
 * Find the folder of the running program. @param[out] ret_folder owned by the caller; NULL when it is unknown.
 * @return 0 or RH_ENOMEM
 */
int rh_config_program_folder(char **ret_folder);

#endif
