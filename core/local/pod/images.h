/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/images.h
 * @brief Environment of this machine that replaces an image: section [images] of the configuration.
 */
#ifndef RH_LOCAL_POD_IMAGES_H
#define RH_LOCAL_POD_IMAGES_H

#include "config/config.h"
#include "local/pod/environment.h"

/**
 * @return the setting of [images] for @p image, borrowed: the first that fits in the layer with the highest precedence
 * (enum rh_config_layer); NULL: there is none
 */
const struct rh_setting *rh_images_find(const struct rh_config *config, const char *image);
/**
 * @return the folder of the virtual environment (venv, conda) that is active in the shell of this program, borrowed
 * from the environment: images that are not mapped find their programs there; NULL: none is, or its programs are not in
 * PATH
 */
const char *rh_images_active(void);
/**
 * Prepend the folders of the first matching setting to PATH, and set VIRTUAL_ENV for a virtual environment. Does
 * nothing when no setting matches.
 * @return 0, RH_EINVAL (the setting names no folder) or RH_ENOMEM
 */
int rh_images_apply(const struct rh_config *config, const char *image, struct rh_environment *environment,
                    struct rh_error *err);

#endif
