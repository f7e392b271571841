/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/manifest.h
 * @brief The objects of a user's files: jobs, and the ConfigMaps, Secrets and claims that they use.
 */
#ifndef RH_JOB_MANIFEST_H
#define RH_JOB_MANIFEST_H

#include <stddef.h>

#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"

/** Largest file that is read, in bytes. */
#define RH_MANIFEST_FILE_MAX (16u * 1024 * 1024)

/** One object of a file. */
struct rh_manifest_object {
	struct rh_json *object; /**< owned */
	char *source;           /**< "job.yaml" or "job.yaml, document 2", for messages; owned */
	bool named;             /**< metadata.name was made here from metadata.generateName */
};

/** All objects of the files, in order; a List is replaced by its items. All zero is empty. */
struct rh_manifest {
	struct rh_manifest_object *items;
	size_t count;
	size_t capacity;
	uint32_t suffix; /**< of the next name that is made, see rh_name_generate(); the caller chooses where to begin */
};

/** Free it and make it empty. */
void rh_manifest_deinit(struct rh_manifest *manifest);
/**
 * Read one file ("-" is standard input) and append its objects. Each must be a map with apiVersion, kind and
 * metadata.name, or metadata.generateName, from which a name is made that no other object of the manifest has; two
 * objects of one kind, namespace and name are refused.
 * @return 0, RH_EINVAL, RH_EIO, RH_ENOENT or RH_ENOMEM; the message names file, line or document, and field
 */
int rh_manifest_read(struct rh_manifest *manifest, const char *path, struct rh_error *err);
/** rh_manifest_read() of a text that is in memory; @p source names it in messages. */
int rh_manifest_parse(struct rh_manifest *manifest, const char *source, const char *text, size_t length,
                      struct rh_error *err);
/**
 * Move the objects of @p from to the end of @p to; one whose kind, namespace and name @p to has is dropped. @p from is
 * empty afterwards. @return 0 or RH_ENOMEM, then some are moved
 */
int rh_manifest_move(struct rh_manifest *to, struct rh_manifest *from);
/** @return the object of @p kind, @p namespace_ ("default" where an object names none) and @p name, borrowed, or NULL
 */
const struct rh_json *rh_manifest_find(const struct rh_manifest *manifest, const char *kind, const char *namespace_,
                                       const char *name);

/** A local manifest that is freed when it goes out of scope. */
#define rh_auto_manifest __attribute__((cleanup(rh_manifest_deinit))) struct rh_manifest

#endif
