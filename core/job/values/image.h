/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/values/image.h
 * @brief References to container images, as container runtimes read them.
 */
#ifndef RH_JOB_VALUES_IMAGE_H
#define RH_JOB_VALUES_IMAGE_H

#include "base/error.h"

/**
 * Check a reference: [REGISTRY[:PORT]/]PATH[:TAG][@ALGORITHM:DIGEST]. A registry is a first part that has a "." or a
 * ":", or is localhost; without one, capital letters are taken for the mistake that they nearly always are.
 * @return 0, or RH_EINVAL with the part that is wrong and an example
 */
int rh_image_check(const char *image, struct rh_error *err);

#endif
