/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/images.h
 * @brief Environment of this machine that replaces an image: section [images] of the configuration.
 */
#ifndef RH_LOCAL_POD_IMAGES_H
#define RH_LOCAL_POD_IMAGES_H

#include "config/config.h"
#include "local/pod/environment.h"

/** Origin of the settings of [images] that the command line gives; they come before those of files. */
#define RH_IMAGES_OPTION "--image"

/** @return the first setting of [images] that fits @p image, borrowed; NULL: there is none */
const struct rh_setting *rh_images_find(const struct rh_config *config, const char *image);
/**
 * Prepend the folders of the first matching setting to PATH, and set VIRTUAL_ENV for a virtual environment. Does
 * nothing when no setting matches.
 * @return 0, RH_EINVAL (the setting names no folder) or RH_ENOMEM
 */
int rh_images_apply(const struct rh_config *config, const char *image, struct rh_environment *environment,
                    struct rh_error *err);

#endif
