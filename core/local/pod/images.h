/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/images.h
 * @brief Which environment of this machine stands for an image: section [images] of the configuration.
 */
#ifndef RH_LOCAL_POD_IMAGES_H
#define RH_LOCAL_POD_IMAGES_H

#include "config/config.h"
#include "local/pod/environment.h"

/**
 * Put the folders that the first fitting setting names in front of PATH, and set VIRTUAL_ENV when it is a virtual
 * environment. No fitting setting changes nothing.
 * @return 0, RH_EINVAL (the setting names no folder) or RH_ENOMEM
 */
int rh_images_apply(const struct rh_config *config, const char *image, struct rh_environment *environment,
                    struct rh_error *err);

#endif
