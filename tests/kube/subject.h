/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tests/kube/subject.h
 * @brief A watch of pods without a network, which a test answers piece by piece. A failure fails the test that calls.
 */
#ifndef RH_TESTS_KUBE_SUBJECT_H
#define RH_TESTS_KUBE_SUBJECT_H

#include <stdint.h>

#include <stdbool.h>

#include "base/str.h"
#include "kube/watch/watch.h"

/** @name JSON in which ' stands for " @{ */
#define SUBJECT_POD(name, uid, version) \
	"{'metadata':{'name':'" name "','namespace':'d','uid':'" uid "','resourceVersion':'" version "'}}"
#define SUBJECT_EVENT(type, object) "{'type':'" type "','object':" object "}\n"
#define SUBJECT_LIST(version, items) "{'metadata':{'resourceVersion':'" version "'},'items':[" items "]}"
#define SUBJECT_PAGE(next, items) "{'metadata':{'resourceVersion':'5','continue':'" next "'},'items':[" items "]}"
#define SUBJECT_BOOKMARK(version) SUBJECT_EVENT("BOOKMARK", "{'metadata':{'resourceVersion':'" version "'}}")
#define SUBJECT_END_OF_LIST(version) \
	SUBJECT_EVENT("BOOKMARK",        \
	              "{'metadata':{'resourceVersion':'" version "','annotations':{'k8s.io/initial-events-end':'true'}}}")
#define SUBJECT_EXPIRED "{'kind':'Status','code':410,'reason':'Expired','message':'too old'}"
/** @} */

/** A watch and its events. */
struct subject {
	struct rh_kube_watch *watch;
	struct rh_str log;      /**< events: "+NAME:UID ~NAME:UID -NAME:UID SYNCED " */
	struct rh_str problems; /**< a line each */
	struct rh_str path;     /**< holds that of the request */
	struct rh_http_request request;
	int64_t now;
};

/** @return a watch that has asked for nothing; freed by subject_teardown() */
struct subject *subject_new(const char *label, const char *namespace_, bool pages);
/** Make a watch of all pods. @return 0 */
int subject_setup(void **state);
/** Free a watch. @return 0 */
int subject_teardown(void **state);
/** @return JSON of a text in which ' stands for "; owned by the caller */
char *subject_quoted(const char *text);
/** Send what is due, which has @p part in its path, waiting for it. @return how long that took, microseconds */
int64_t subject_ask(struct subject *s, const char *part);
/** Hand a piece of the answer in. @return as rh_kube_watch_feed() */
int subject_feed(struct subject *s, const char *text);
/** End the request under way; @p status 0 is a broken connection. */
void subject_over(struct subject *s, int32_t status, const char *body);
/** Answer the request under way with a whole body. */
void subject_reply(struct subject *s, const char *body);
/** Compare the events since the last time. */
void subject_assert_log(struct subject *s, const char *expected);
/** Compare the problems since the last time. */
void subject_assert_problems(struct subject *s, const char *expected);
/** List the pods a and b; then follow from version 5. */
void subject_start(struct subject *s);
/** @return an event with a pod, good until the next call */
const char *subject_pod_event(const char *type, const char *name, const char *uid, const char *version);

#endif
