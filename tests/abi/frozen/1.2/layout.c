/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ABI 1.2 looks like on 64-bit machines, member by member: compiled against the headers beside it, and against
 * those of today, whose structs may be longer.
 */
#include <stddef.h>
#include <stdint.h>

/* in angle brackets: the header that the build names, not the one beside this file */
#include <roundhouse/plugin.h>

#ifdef LAYOUT_FROZEN
#define LAYOUT_SIZE ==
#else
#define LAYOUT_SIZE >=
#endif

/** A member stands where it stood and has the type that it had. */
#define LAYOUT(type, member, offset, ...)                                                                \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member " moved");               \
	_Static_assert(__builtin_types_compatible_p(__typeof__(((struct type *)NULL)->member), __VA_ARGS__), \
	               #type "." #member " has another type")

#if UINTPTR_MAX == UINT64_MAX

_Static_assert(sizeof(struct rh_head) == 24, "rh_head changed");
LAYOUT(rh_head, size, 0, uint32_t);
LAYOUT(rh_head, major, 4, uint16_t);
LAYOUT(rh_head, minor, 6, uint16_t);
LAYOUT(rh_head, vendor, 8, char[16]);

_Static_assert(sizeof(struct rh_replica_type) LAYOUT_SIZE 64, "rh_replica_type became shorter");
LAYOUT(rh_replica_type, head, 0, struct rh_head);
LAYOUT(rh_replica_type, name, 24, const char *);
LAYOUT(rh_replica_type, default_replicas, 32, int32_t);
LAYOUT(rh_replica_type, min_replicas, 36, int32_t);
LAYOUT(rh_replica_type, max_replicas, 40, int32_t);
LAYOUT(rh_replica_type, flags, 44, uint32_t);
LAYOUT(rh_replica_type, restart_policy, 48, const char *);
LAYOUT(rh_replica_type, path, 56, const char *);

_Static_assert(sizeof(struct rh_kind) LAYOUT_SIZE 264, "rh_kind became shorter");
LAYOUT(rh_kind, head, 0, struct rh_head);
LAYOUT(rh_kind, group, 24, const char *);
LAYOUT(rh_kind, version, 32, const char *);
LAYOUT(rh_kind, kind, 40, const char *);
LAYOUT(rh_kind, plural, 48, const char *);
LAYOUT(rh_kind, singular, 56, const char *);
LAYOUT(rh_kind, framework, 64, const char *);
LAYOUT(rh_kind, controller, 72, const char *);
LAYOUT(rh_kind, replicas_field, 80, const char *);
LAYOUT(rh_kind, types, 88, const struct rh_replica_type *const *);
LAYOUT(rh_kind, leader_fallback, 96, const char *);
LAYOUT(rh_kind, container, 104, const char *);
LAYOUT(rh_kind, port_name, 112, const char *);
LAYOUT(rh_kind, restart_policy, 120, const char *);
LAYOUT(rh_kind, scale_type, 128, const char *);
LAYOUT(rh_kind, port, 136, int32_t);
LAYOUT(rh_kind, flags, 140, uint32_t);
LAYOUT(rh_kind, spec_schema, 144, const char *);
LAYOUT(rh_kind, columns, 152, const char *);
LAYOUT(rh_kind, rbac_rules, 160, const char *);
LAYOUT(rh_kind, cel_rules, 168, const char *);
LAYOUT(rh_kind, contract, 176, const char *);
LAYOUT(rh_kind, replicas_path, 184, const char *);
LAYOUT(rh_kind, run_policy_path, 192, const char *);
LAYOUT(rh_kind, run_policy, 200, const char *);
LAYOUT(rh_kind, managers, 208, const char *);
LAYOUT(rh_kind, spec_required, 216, const char *);
LAYOUT(rh_kind, conditions, 224, const char *);
LAYOUT(rh_kind, status_schema, 232, const char *);
LAYOUT(rh_kind, pod_name, 240, const char *);
LAYOUT(rh_kind, host_name, 248, const char *);
LAYOUT(rh_kind, lookups, 256, const char *);

_Static_assert(sizeof(struct rh_replica) LAYOUT_SIZE 40, "rh_replica became shorter");
LAYOUT(rh_replica, head, 0, struct rh_head);
LAYOUT(rh_replica, type, 24, const char *);
LAYOUT(rh_replica, index, 32, int32_t);
LAYOUT(rh_replica, rank, 36, int32_t);

_Static_assert(sizeof(struct rh_counts) LAYOUT_SIZE 48, "rh_counts became shorter");
LAYOUT(rh_counts, head, 0, struct rh_head);
LAYOUT(rh_counts, desired, 24, int32_t);
LAYOUT(rh_counts, active, 28, int32_t);
LAYOUT(rh_counts, succeeded, 32, int32_t);
LAYOUT(rh_counts, failed, 36, int32_t);
LAYOUT(rh_counts, restarting, 40, int32_t);
LAYOUT(rh_counts, ready, 44, int32_t);

_Static_assert(sizeof(struct rh_replica_state) LAYOUT_SIZE 36, "rh_replica_state became shorter");
LAYOUT(rh_replica_state, head, 0, struct rh_head);
LAYOUT(rh_replica_state, phase, 24, int32_t);
LAYOUT(rh_replica_state, exit_code, 28, int32_t);
LAYOUT(rh_replica_state, ready, 32, int32_t);

_Static_assert(sizeof(struct rh_object_options) LAYOUT_SIZE 32, "rh_object_options became shorter");
LAYOUT(rh_object_options, head, 0, struct rh_head);
LAYOUT(rh_object_options, flags, 24, uint32_t);
LAYOUT(rh_object_options, random_bytes, 28, uint32_t);

_Static_assert(sizeof(struct rh_made) LAYOUT_SIZE 64, "rh_made became shorter");
LAYOUT(rh_made, head, 0, struct rh_head);
LAYOUT(rh_made, api_version, 24, const char *);
LAYOUT(rh_made, kind, 32, const char *);
LAYOUT(rh_made, name, 40, const char *);
LAYOUT(rh_made, random, 48, const uint8_t *);
LAYOUT(rh_made, random_bytes, 56, uint32_t);

_Static_assert(sizeof(struct rh_services) LAYOUT_SIZE 304, "rh_services became shorter");
LAYOUT(rh_services, head, 0, struct rh_head);
LAYOUT(rh_services, text, 24, const char *(*)(const struct rh_view *view, const char *path));
LAYOUT(rh_services, integer, 32, int32_t (*)(const struct rh_view *view, const char *path, int64_t *ret_value));
LAYOUT(rh_services, boolean, 40, int32_t (*)(const struct rh_view *view, const char *path));
LAYOUT(rh_services, size, 48, int32_t (*)(const struct rh_view *view, const char *path));
LAYOUT(rh_services, json, 56, const char *(*)(const struct rh_view *view, const char *path));
LAYOUT(rh_services, quote, 64, const char *(*)(const struct rh_view *view, const char *text));
LAYOUT(rh_services, setting, 72, const char *(*)(const struct rh_view *view, const char *key));
LAYOUT(rh_services, type, 80, const char *(*)(const struct rh_view *view, uint32_t place));
LAYOUT(rh_services, replicas, 88, int32_t (*)(const struct rh_view *view, const char *type));
LAYOUT(rh_services, restart_policy, 96, const char *(*)(const struct rh_view *view, const char *type));
LAYOUT(rh_services, pod_name, 104, const char *(*)(const struct rh_view *view, const char *type, int32_t index));
LAYOUT(rh_services, host, 112, const char *(*)(const struct rh_view *view, const char *type, int32_t index));
LAYOUT(rh_services, port, 120, int32_t (*)(const struct rh_view *view, const char *type, int32_t index));
LAYOUT(rh_services, state, 128, uint32_t (*)(const struct rh_view *view));
LAYOUT(rh_services, attempt, 136, int32_t (*)(const struct rh_view *view));
LAYOUT(rh_services, counts, 144,
       int32_t (*)(const struct rh_view *view, const char *type, struct rh_counts *ret_counts));
LAYOUT(rh_services, replica, 152,
       int32_t (*)(const struct rh_view *view, const char *type, int32_t index, struct rh_replica_state *ret_state));
LAYOUT(rh_services, condition, 160, int32_t (*)(const struct rh_view *view, const char *type));
LAYOUT(rh_services, fail, 168, int32_t (*)(struct rh_reply *reply, int32_t code, const char *text));
LAYOUT(rh_services, note, 176, int32_t (*)(struct rh_reply *reply, int32_t level, const char *text));
LAYOUT(rh_services, refuse, 184, int32_t (*)(struct rh_reply *reply, const char *path, const char *detail));
LAYOUT(rh_services, env, 192,
       int32_t (*)(struct rh_reply *reply, const char *container, const char *name, const char *value));
LAYOUT(rh_services, edit, 200, int32_t (*)(struct rh_reply *reply, const char *path, const char *json));
LAYOUT(rh_services, object, 208, int32_t (*)(struct rh_reply *reply, const char *json));
LAYOUT(rh_services, verdict, 216,
       int32_t (*)(struct rh_reply *reply, int32_t verdict, const char *type, const char *message));
LAYOUT(rh_services, key, 224, const char *(*)(const struct rh_view *view, const char *path, uint32_t place));
LAYOUT(rh_services, member, 232, const char *(*)(const struct rh_view *view, const char *path, const char *key));
LAYOUT(rh_services, gang, 240, const char *(*)(const struct rh_view *view));
LAYOUT(rh_services, object_with, 248,
       int32_t (*)(struct rh_reply *reply, const char *json, const struct rh_object_options *options));
LAYOUT(rh_services, hold, 256,
       int32_t (*)(struct rh_reply *reply, const char *type, int32_t index, const char *reason));
LAYOUT(rh_services, conclude, 264,
       int32_t (*)(struct rh_reply *reply, int32_t verdict, const char *type, const char *reason, const char *message));
LAYOUT(rh_services, status, 272, int32_t (*)(struct rh_reply *reply, const char *field, const char *json));
LAYOUT(rh_services, lookup, 280, int32_t (*)(const struct rh_view *view, const char *name));
LAYOUT(rh_services, expansion, 288, int32_t (*)(struct rh_reply *reply, const char *json));
LAYOUT(rh_services, restart, 296,
       int32_t (*)(struct rh_reply *reply, const char *type, int32_t index, uint32_t flags, const char *token,
                   const char *message));

_Static_assert(sizeof(struct rh_plugin) LAYOUT_SIZE 128, "rh_plugin became shorter");
LAYOUT(rh_plugin, head, 0, struct rh_head);
LAYOUT(rh_plugin, name, 24, const char *);
LAYOUT(rh_plugin, release, 32, const char *);
LAYOUT(rh_plugin, init, 40, int32_t (*)(const struct rh_services *services, void **ret_self, struct rh_reply *reply));
LAYOUT(rh_plugin, fini, 48, void (*)(void *self));
LAYOUT(rh_plugin, describe, 56, const struct rh_kind *(*)(void *self, uint32_t index));
LAYOUT(rh_plugin, validate, 64, int32_t (*)(void *self, const struct rh_view *view, struct rh_reply *reply));
LAYOUT(rh_plugin, pod, 72,
       int32_t (*)(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply));
LAYOUT(rh_plugin, objects, 80, int32_t (*)(void *self, const struct rh_view *view, struct rh_reply *reply));
LAYOUT(rh_plugin, judge, 88, int32_t (*)(void *self, const struct rh_view *view, struct rh_reply *reply));
LAYOUT(rh_plugin, settings, 96, const char *);
LAYOUT(rh_plugin, resources, 104, const char *);
LAYOUT(rh_plugin, make, 112,
       int32_t (*)(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply));
LAYOUT(rh_plugin, expand, 120, int32_t (*)(void *self, const struct rh_view *view, struct rh_reply *reply));

#endif

_Static_assert(RH_DEFAULT == 1, "RH_DEFAULT changed");
_Static_assert(RH_STATE_LOCAL == 1, "RH_STATE_LOCAL changed");
_Static_assert(RH_STATE_SUSPENDED == 2, "RH_STATE_SUSPENDED changed");
_Static_assert(RH_STATE_FINISHED == 4, "RH_STATE_FINISHED changed");
_Static_assert(RH_REPLICA_LEADER == 1, "RH_REPLICA_LEADER changed");
_Static_assert(RH_REPLICA_REQUIRED == 2, "RH_REPLICA_REQUIRED changed");
_Static_assert(RH_REPLICA_EXPLICIT == 4, "RH_REPLICA_EXPLICIT changed");
_Static_assert(RH_REPLICA_UNINDEXED == 8, "RH_REPLICA_UNINDEXED changed");
_Static_assert(RH_REPLICA_RANKED == 16, "RH_REPLICA_RANKED changed");
_Static_assert(RH_REPLICA_OUTSIDE == 32, "RH_REPLICA_OUTSIDE changed");
_Static_assert(RH_KIND_SERVICES == 1, "RH_KIND_SERVICES changed");
_Static_assert(RH_KIND_DNS_NAME == 2, "RH_KIND_DNS_NAME changed");
_Static_assert(RH_KIND_SELECTOR == 4, "RH_KIND_SELECTOR changed");
_Static_assert(RH_KIND_ANY_CASE == 8, "RH_KIND_ANY_CASE changed");
_Static_assert(RH_KIND_OPEN_TYPES == 16, "RH_KIND_OPEN_TYPES changed");
_Static_assert(RH_KIND_BINDS_ALL == 32, "RH_KIND_BINDS_ALL changed");
_Static_assert(RH_KIND_SHARED_PORT == 64, "RH_KIND_SHARED_PORT changed");
_Static_assert(RH_KIND_OWN_LABELS == 128, "RH_KIND_OWN_LABELS changed");
_Static_assert(RH_KIND_OWN_STATUS == 256, "RH_KIND_OWN_STATUS changed");
_Static_assert(RH_KIND_OWN_GANG == 512, "RH_KIND_OWN_GANG changed");
_Static_assert(RH_KIND_STORAGE == 1024, "RH_KIND_STORAGE changed");
_Static_assert(RH_KIND_FALLBACK == 2048, "RH_KIND_FALLBACK changed");
_Static_assert(RH_KIND_EXPANDED == 4096, "RH_KIND_EXPANDED changed");
_Static_assert(RH_KIND_OPT_IN == 8192, "RH_KIND_OPT_IN changed");
_Static_assert(RH_KIND_OWN_LIMITS == 16384, "RH_KIND_OWN_LIMITS changed");
_Static_assert(RH_PHASE_ABSENT == 0, "RH_PHASE_ABSENT changed");
_Static_assert(RH_PHASE_PENDING == 1, "RH_PHASE_PENDING changed");
_Static_assert(RH_PHASE_RUNNING == 2, "RH_PHASE_RUNNING changed");
_Static_assert(RH_PHASE_SUCCEEDED == 3, "RH_PHASE_SUCCEEDED changed");
_Static_assert(RH_PHASE_FAILED == 4, "RH_PHASE_FAILED changed");
_Static_assert(RH_VERDICT_RUNNING == 1, "RH_VERDICT_RUNNING changed");
_Static_assert(RH_VERDICT_SUCCEEDED == 2, "RH_VERDICT_SUCCEEDED changed");
_Static_assert(RH_VERDICT_FAILED == 3, "RH_VERDICT_FAILED changed");
_Static_assert(RH_VERDICT_RESTARTING == 4, "RH_VERDICT_RESTARTING changed");
_Static_assert(RH_NOTE_DEBUG == 0, "RH_NOTE_DEBUG changed");
_Static_assert(RH_NOTE_INFO == 1, "RH_NOTE_INFO changed");
_Static_assert(RH_NOTE_WARN == 2, "RH_NOTE_WARN changed");
_Static_assert(RH_LOOKUP_FOUND == 1, "RH_LOOKUP_FOUND changed");
_Static_assert(RH_LOOKUP_ABSENT == 2, "RH_LOOKUP_ABSENT changed");
_Static_assert(RH_LOOKUP_UNNAMED == 3, "RH_LOOKUP_UNNAMED changed");
_Static_assert(RH_OBJECT_ONCE == 1, "RH_OBJECT_ONCE changed");
_Static_assert(RH_OBJECT_RETAIN == 2, "RH_OBJECT_RETAIN changed");
_Static_assert(RH_OBJECT_PAIR == 4, "RH_OBJECT_PAIR changed");
_Static_assert(RH_RESTART_FREE == 1, "RH_RESTART_FREE changed");
_Static_assert(RH_PAIR_BYTES == 199, "RH_PAIR_BYTES changed");

_Static_assert(RH_OK == 0, "RH_OK changed");
_Static_assert(RH_EINVAL == -1, "RH_EINVAL changed");
_Static_assert(RH_ENOMEM == -2, "RH_ENOMEM changed");
_Static_assert(RH_EAGAIN == -3, "RH_EAGAIN changed");
_Static_assert(RH_EPLUGIN == -4, "RH_EPLUGIN changed");
_Static_assert(RH_EIO == -5, "RH_EIO changed");
_Static_assert(RH_ENOENT == -6, "RH_ENOENT changed");
_Static_assert(RH_EEXIST == -7, "RH_EEXIST changed");
_Static_assert(RH_ECONFLICT == -8, "RH_ECONFLICT changed");

_Static_assert(RH_ABI_MAJOR == 1, "another major has another entry function, and a folder of its own");
_Static_assert(sizeof(RH_ABI_VENDOR) == 11, "the vendor changed");
_Static_assert(sizeof(RH_PLUGIN_SYMBOL) == 19, "the entry function changed");
_Static_assert(__builtin_types_compatible_p(__typeof__(rh_plugin_entry_v1), const struct rh_plugin *(void)),
               "the entry function changed");
_Static_assert(__builtin_types_compatible_p(rh_plugin_entry_fn, const struct rh_plugin *(void)),
               "the entry function changed");
