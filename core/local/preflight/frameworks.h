/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/preflight/frameworks.h
 * @brief Which framework an image has, by its name, so that an environment of examples/setup can stand for it.
 */
#ifndef RH_LOCAL_PREFLIGHT_FRAMEWORKS_H
#define RH_LOCAL_PREFLIGHT_FRAMEWORKS_H

/**
 * @return the folder of examples/ whose environment has what the name of @p image promises, static storage; NULL: the
 * name says nothing. The images of V1's own examples are among those that are known.
 */
const char *rh_framework_of_image(const char *image);

#endif
