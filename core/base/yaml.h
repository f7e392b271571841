/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/yaml.h
 * @brief YAML to and from JSON trees. The only module that knows libyaml.
 *
 * Scalars are resolved by the YAML 1.1 rules that Kubernetes' tools use (sigs.k8s.io/yaml): plain
 * true/false/yes/no/on/off/y/n are booleans, plain decimal, 0x, 0o, 0b and leading-zero octal numbers are numbers (_
 * between digits is dropped; 0x, 0o and 0b beyond 64 bits are strings), ~, null and nothing are null, and dates and
 * quoted scalars are strings. Keys that are numbers or booleans become their text.
 */
#ifndef RH_BASE_YAML_H
#define RH_BASE_YAML_H

#include "base/json.h"

/** Most nodes that one text may hold after its aliases are expanded. */
#define RH_YAML_NODES_MAX 1000000
/** Longest text that is parsed, in bytes. */
#define RH_YAML_TEXT_MAX (16u * 1024 * 1024)

/**
 * Parse a text of any number of documents, YAML or JSON. Empty documents are left out.
 * Refused, with line and column: malformed text, duplicate keys, keys that are not scalars, nesting beyond
 * RH_JSON_DEPTH_MAX, aliases that expand beyond RH_YAML_NODES_MAX, or that make 99 of 100 values, bytes that are
 * not UTF-8, custom tags, numbers that are not finite. Merge keys (<<) are expanded; a mapping's own keys win. A text
 * that starts with { or [ is read as JSON documents with --- lines between them, and as YAML in flow style only if it
 * is not JSON.
 * @param[out] ret_documents an array with one item a document, owned by the caller
 * @return 0, RH_EINVAL or RH_ENOMEM
 */
int rh_yaml_parse(const char *text, size_t length, struct rh_json **ret_documents, struct rh_error *err);
/**
 * rh_yaml_parse() of a text that holds secrets: a message says where and what the mistake is, and quotes nothing of the
 * text.
 */
int rh_yaml_parse_secret(const char *text, size_t length, struct rh_json **ret_documents, struct rh_error *err);

/**
 * Print @p json as one YAML document in block style that reads back as the same tree; appended to @p out. @return 0 or
 * RH_ENOMEM
 */
int rh_yaml_print(const struct rh_json *json, struct rh_str *out);

#endif
