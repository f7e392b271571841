/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/support.h
 * @brief Short ways to objects for tests. A failure in here fails the test that calls.
 */
#ifndef RH_TEST_JOB_SUPPORT_H
#define RH_TEST_JOB_SUPPORT_H

/* cmocka.h needs the headers before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/json.h"
#include "job/job.h"
#include "job/rules/findings.h"

/** Parse JSON in which ' stands for ". @return owned by the caller */
struct rh_json *test_json(const char *text);
/** Parse the one document of a golden file, named below tests/goldens. @return owned by the caller */
struct rh_json *test_golden(const char *path);
/** Parse a job from test_json() text. @return owned by the caller */
struct rh_job *test_job(const struct rh_kind *kind, const char *text);
/** Make a PyTorchJob "j" whose spec has the members @p spec besides a good Master, and metadata the members @p
 * metadata. @return owned by the caller */
struct rh_job *test_pytorch_job(const char *metadata, const char *spec);
/** @return findings of rh_job_validate() as text, one a line, warnings with "warning: " in front; owned by the caller
 */
char *test_validate(const struct rh_job *job);

/** A good pod template of PyTorch, as test_json() text. */
#define TEST_TEMPLATE "{'spec':{'containers':[{'name':'pytorch','image':'i'}]}}"
/** A good Master, as a member of the replica map. */
#define TEST_MASTER "'Master':{'replicas':1,'template':" TEST_TEMPLATE "}"

#endif
