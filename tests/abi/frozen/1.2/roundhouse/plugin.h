/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file roundhouse/plugin.h
 * @brief The ABI between Roundhouse and one framework plugin. The only header that a plugin needs.
 *
 * A plugin is a shared object that exports exactly one function, rh_plugin_entry_v1(). It links nothing of the core:
 * every service comes as a function pointer in struct rh_services. Life cycle: the host loads the object, checks entry
 * symbol, size, version and vendor, calls init() once, then describe() for each kind, then the operations as often as
 * it likes, and fini() before it ends.
 *
 * Rules for every operation: it answers from the view alone, it does no I/O, never blocks, owns no thread, and keeps no
 * pointer past the call. What init() put into self does not change afterwards. All calls come from one thread. Text
 * that a service returns is borrowed and valid until the operation returns; text that is handed to a service is copied.
 * Where a service ran out of memory, the host fails the operation whatever it returns, so NULL can be taken for
 * "absent". An operation returns 0, or the negative enum rh_status that a service returned to it.
 *
 * This is major version 1. What is in it stays: a later minor version appends fields to structs and adds flag bits, and
 * changes nothing else. So host and plugin of any two minor versions fit. Whoever reads a field that came after 1.0
 * asks RH_HAS() first; bits that a reader does not know it ignores. Minor 0 is kept in tests/abi/frozen and built for
 * ever; docs/plugin-abi.md says more.
 */
#ifndef ROUNDHOUSE_PLUGIN_H
#define ROUNDHOUSE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Breaking level; part of the entry symbol's name. */
#define RH_ABI_MAJOR 1
/** Growth level; raised whenever a struct gains a field at its end. Host and plugin need not have the same. */
#define RH_ABI_MINOR 2
/** Who defines this ABI; a fork that changes it changes this text. */
#define RH_ABI_VENDOR "roundhouse"

/** First bytes of every struct that crosses the border. */
struct rh_head {
	uint32_t size;   /**< sizeof the struct where it was compiled: what lies behind it is not there */
	uint16_t major;  /**< RH_ABI_MAJOR there */
	uint16_t minor;  /**< RH_ABI_MINOR there */
	char vendor[16]; /**< RH_ABI_VENDOR there, zero-padded */
};

/** Fills the head of a struct of type @p T. */
#define RH_HEAD(T)                                                     \
	{                                                                  \
		(uint32_t)sizeof(T), RH_ABI_MAJOR, RH_ABI_MINOR, RH_ABI_VENDOR \
	}

/** True when @p ptr comes from a build that knows @p field and sets it. */
#define RH_HAS(ptr, type, field) ((ptr)->head.size >= offsetof(type, field) + sizeof((ptr)->field) && (ptr)->field)

/** What judge() returns to leave it to the core, as if it were NULL. */
#define RH_DEFAULT 1

/** @name What holds of the moment that a view shows (rh_services.state) @{ */
#define RH_STATE_LOCAL UINT32_C(1)     /**< replicas are reached by address: there are no names to wait for */
#define RH_STATE_SUSPENDED UINT32_C(2) /**< the job is suspended, or is to be */
#define RH_STATE_FINISHED UINT32_C(4)  /**< the job has succeeded or failed */
/** @} */

struct rh_view;  /**< opaque: one job and its state at one moment; lives as long as the call */
struct rh_reply; /**< opaque: gathers the answer of one call */

/** @name Since 1.2: what becomes of an entry of rh_kind.lookups (rh_services.lookup) @{ */
#define RH_LOOKUP_FOUND 1   /**< the object exists */
#define RH_LOOKUP_ABSENT 2  /**< it does not, or it is not looked for */
#define RH_LOOKUP_UNNAMED 3 /**< the job does not name one */
/** @} */

/** @name Flags of a replica type (rh_replica_type.flags) @{ */
#define RH_REPLICA_LEADER UINT32_C(1)    /**< every pod of this type has the master role */
#define RH_REPLICA_REQUIRED UINT32_C(2)  /**< a job without this type is refused */
#define RH_REPLICA_EXPLICIT UINT32_C(4)  /**< the job must write replicas itself; the default will not do */
#define RH_REPLICA_UNINDEXED UINT32_C(8) /**< its one pod has no index in name and labels; max_replicas is 1 */
/** since 1.1: each of its pods is one process of the job's world, which rh_comm may number: no server, no launcher */
#define RH_REPLICA_RANKED UINT32_C(16)
/** since 1.2: on a cluster an object of objects() makes its pods, as a batch/v1 Job; the core does on one machine */
#define RH_REPLICA_OUTSIDE UINT32_C(32)
/** @} */

/** One replica type of a kind. */
struct rh_replica_type {
	struct rh_head head;      /**< RH_HEAD(struct rh_replica_type) */
	const char *name;         /**< canonical spelling: "Master" */
	int32_t default_replicas; /**< what a missing replicas means */
	int32_t min_replicas;     /**< fewest allowed */
	int32_t max_replicas;     /**< most allowed; 0 is no limit */
	uint32_t flags;           /**< RH_REPLICA_* */
	/** Since 1.2. Default restartPolicy of this type; NULL: rh_kind.restart_policy. */
	const char *restart_policy;
	/**
	 * Since 1.2. Where {replicas, restartPolicy, template} of this type is, outside of the map: "spec.head"; NULL: in
	 * the map. A job in which nothing is there does not have the type.
	 */
	const char *path;
};

/** @name Flags of a kind (rh_kind.flags) @{ */
#define RH_KIND_SERVICES UINT32_C(1)     /**< each replica gets a headless Service */
#define RH_KIND_DNS_NAME UINT32_C(2)     /**< metadata.name must be a DNS-1035 label */
#define RH_KIND_SELECTOR UINT32_C(4)     /**< status.replicaStatuses[*].selector is kept */
#define RH_KIND_ANY_CASE UINT32_C(8)     /**< replica types may be written in any case */
#define RH_KIND_OPEN_TYPES UINT32_C(16)  /**< unknown replica types are allowed */
#define RH_KIND_BINDS_ALL UINT32_C(32)   /**< servers bind every interface: local mode gives replicas distinct ports */
#define RH_KIND_SHARED_PORT UINT32_C(64) /**< all replicas of a type must have the same port number, also locally */
/**
 * since 1.2: the core labels pods and Services with training.kubeflow.org/job-name and, to find them again,
 * roundhouse.dev/operator-name, replica-type and replica-index; all other labels of pods are the plugin's, by pod()
 */
#define RH_KIND_OWN_LABELS UINT32_C(128)
/** since 1.2: of status the core writes conditions alone; replicaStatuses and times are the plugin's, or nobody's */
#define RH_KIND_OWN_STATUS UINT32_C(256)
/** since 1.2: objects() and pod() do gang scheduling (rh_services.gang): the core makes no PodGroup */
#define RH_KIND_OWN_GANG UINT32_C(512)
/** since 1.2: this version of the kind is the storage version of its CustomResourceDefinition; at most one of them */
#define RH_KIND_STORAGE UINT32_C(1024)
/** since 1.2: of several versions of the kind, this one has the jobs whose version nobody can find out */
#define RH_KIND_FALLBACK UINT32_C(2048)
/**
 * since 1.2: rh_plugin.expand gives the replica types of a job; the job has no map of them: replicas_field,
 * replicas_path, scale_type and the paths of types are NULL
 */
#define RH_KIND_EXPANDED UINT32_C(4096)
/** since 1.2: another operator may serve it: clusters, CRDs and rights have it only where [plugins] allow names it */
#define RH_KIND_OPT_IN UINT32_C(8192)
/** since 1.2: on a cluster an object of the plugin keeps activeDeadlineSeconds and backoffLimit, not the core */
#define RH_KIND_OWN_LIMITS UINT32_C(16384)
/** @} */

/** What describe() says of one kind. Static data; lives as long as the plugin. */
struct rh_kind {
	struct rh_head head;        /**< RH_HEAD(struct rh_kind) */
	const char *group;          /**< "kubeflow.org" */
	const char *version;        /**< "v1" */
	const char *kind;           /**< "PyTorchJob" */
	const char *plural;         /**< "pytorchjobs" */
	const char *singular;       /**< "pytorchjob" */
	const char *framework;      /**< value of the metrics label framework: "pytorch" */
	const char *controller;     /**< value of the operator-name label: "pytorchjob-controller" */
	const char *replicas_field; /**< member of spec that maps types to replicas: "pytorchReplicaSpecs" */
	const struct rh_replica_type *const
		*types;                  /**< NULL-terminated, in start order; none is needed with RH_KIND_EXPANDED */
	const char *leader_fallback; /**< its index 0 has the master role in a job without a leader type; or NULL */
	/** Main container: "pytorch"; NULL, or in no template of RH_KIND_EXPANDED by this name: the first one. */
	const char *container;
	const char *port_name;      /**< name of its port: "pytorchjob-port"; NULL: the core adds no port */
	const char *restart_policy; /**< default restartPolicy of a replica */
	const char *scale_type;     /**< type that the scale subresource scales; NULL: none */
	int32_t port;               /**< number of port_name where the job sets none; 0 without port_name */
	uint32_t flags;             /**< RH_KIND_* */
	/**
	 * OpenAPI v3 "properties" of spec beside runPolicy and replicas_field, as JSON; or NULL. It becomes a part of the
	 * kind's CRD. A description may end with "Default: X.", which `roundhouse explain` shows apart.
	 */
	const char *spec_schema;
	const char *columns;    /**< JSON array of additionalPrinterColumns; NULL: State and Age */
	const char *rbac_rules; /**< JSON array of further RBAC PolicyRules that its objects need; or NULL */
	/**
	 * Rules that the kind's CRD is to carry beside those that follow from the rest of this description, so that an API
	 * server refuses what validate() refuses: a JSON array of CEL rules (x-kubernetes-validations: "rule", "message",
	 * "fieldPath", "reason", "optionalOldSelf"), each with one member more, "at": "spec", or "replicas" for the map of
	 * replica types; or NULL. A rule at "spec" is asked again at each change of spec: with optionalOldSelf it can let a
	 * job pass that broke it before. Rules on one field of spec_schema stand there.
	 */
	const char *cel_rules;
	/**
	 * What pod() and objects() add, for people: a JSON array of objects with the texts "what" (env, initContainer,
	 * volume, mount, field or object), "name", "value" (what it holds), and where they apply "types" (an array: pods of
	 * these replica types alone), "when" (the condition) and "source" (the field of the job that it is taken from); or
	 * NULL. `roundhouse explain` shows it.
	 */
	const char *contract;
	/**
	 * Since 1.2. Where the map of replica types is: "spec.cluster.replicaSpecs"; NULL: at "spec." and replicas_field,
	 * which may be NULL where this is set, where each type has a path, or with RH_KIND_EXPANDED. A path of a job has no
	 * lists and at most 8 members.
	 */
	const char *replicas_path;
	/**
	 * Since 1.2. Where the run policy is; NULL: at "spec.runPolicy"; "": there is none in the job. With "spec" its
	 * members are members of spec, and those count that spec_schema names.
	 */
	const char *run_policy_path;
	/**
	 * Since 1.2. Defaults of the run policy, for members that a job does not set: a JSON object with any of
	 * cleanPodPolicy, backoffLimit, ttlSecondsAfterFinished, activeDeadlineSeconds and suspend; NULL: V1's. A scheduler
	 * that never ends by itself has {"cleanPodPolicy":"All"}. The CRD has no default from it, so stored jobs do not
	 * change.
	 */
	const char *run_policy;
	/**
	 * Since 1.2. JSON array: the values that managedBy may have. A job in which it is absent, or the first of them, is
	 * ours; the others name other controllers. NULL: V1's two.
	 */
	const char *managers;
	/** Since 1.2. JSON array: required members of spec; NULL: the first member of the map's path. */
	const char *spec_required;
	/**
	 * Since 1.2. What the kind calls its conditions: a JSON object with any of the members Created, Running,
	 * Restarting, Suspended, Succeeded and Failed, and of Deadline, Backoff and Invalid, which are ways to get the
	 * condition Failed. A value is null (the kind has no such condition; not for Succeeded and Failed), or an object
	 * with any of "type" (of the condition), "reason" (a word), "message" (with {kind}, {job}, {namespace}, and in that
	 * of Invalid {findings}), "event" (Normal, Warning or none: the type of its Event), in Suspended "falseReason" and
	 * "falseMessage" (when it becomes False), and in Invalid "final" (false: a new job that is not valid does not fail,
	 * it gets an Event and begins once it is corrected). What is absent is V1's. NULL: all of it is.
	 */
	const char *conditions;
	/**
	 * Since 1.2. OpenAPI v3 "properties" of status that are the plugin's to write (rh_services.status), as JSON; they
	 * stand in the CRD beside those of the core. With replicaStatuses among them the core writes no counts. conditions,
	 * startTime, completionTime and lastReconcileTime are the core's. NULL: none.
	 */
	const char *status_schema;
	/**
	 * Since 1.2. Pattern of the name of a replica's pod, and of its Service with RH_KIND_SERVICES: it begins with
	 * "{job}-", has {type} (in lower case) and {index}, each after "-", and may have {suffix}, five characters as of
	 * metadata.generateName, which are the same for each pod of a replica. Without an index (RH_REPLICA_UNINDEXED) the
	 * "-" before it is left out, too. "{job}-{type}-0-{index}-{suffix}"; NULL: "{job}-{type}-{index}".
	 */
	const char *pod_name;
	/**
	 * Since 1.2. Pattern of what host() returns on a cluster, with {pod}, {job}, {namespace}, {type} and {index}, and
	 * at its end {domain}: a dot and the setting cluster-domain of the plugin, nothing without it.
	 * "{pod}.{job}.{namespace}.svc{domain}" is the host of a pod with a Service {job} for all of them, which objects()
	 * names, and hostname and subdomain, which pod() sets. NULL: the name of the replica's Service.
	 */
	const char *host_name;
	/**
	 * Since 1.2. Other objects that operations read (rh_services.lookup): a JSON array of objects with
	 *  - "name": lower-case letters; paths call the object "@NAME";
	 *  - "apiVersion", and "kinds": what may be read, objects with "kind", "plural" and "scope" (Cluster or Namespaced:
	 *    then it is in the namespace of the job);
	 *  - "kind": which of kinds, a text or {"from": path of the job, "default": kind}; absent: the first. A job that
	 *    names another one is not valid;
	 *  - "object": its name, {"from": path of the job, "default": name} or {"pattern": a text with {job}};
	 * and where they are wished
	 *  - "required": false lets operations see that it is absent; else a job without it waits and none is called;
	 *  - "own": true: the object counts only when the job is its controller, else it is absent; never required;
	 *  - "unless": name of an entry without unless; when its object is found, this one is absent and not required;
	 *  - "parse": paths of texts that are YAML or JSON: the value takes the place of the text; a job that names an
	 *    object with a text that is neither is not valid;
	 *  - "metadata": true: nothing but its metadata is read.
	 * At most 16 entries. NULL: none.
	 */
	const char *lookups;
};

/** One replica. */
struct rh_replica {
	struct rh_head head; /**< filled by the host */
	const char *type;    /**< canonical type: "Worker" */
	int32_t index;       /**< 0-based within its type */
	int32_t rank;        /**< 0-based over all types in the order of rh_kind.types */
};

/** How the replicas of one type do, as in V1's replicaStatuses. */
struct rh_counts {
	struct rh_head head; /**< set by the caller to RH_HEAD(struct rh_counts); the host fills what fits */
	int32_t desired;     /**< replicas that the job wants */
	int32_t active;      /**< pods that run and are not being deleted */
	int32_t succeeded;   /**< replicas that ended well, also those whose pods are gone since */
	int32_t failed;      /**< replicas that failed and will not be restarted */
	int32_t restarting;  /**< replicas that failed or vanished and are being restarted */
	/** Since 1.2. Of active, pods with the condition Ready. Set it to -1 before the call: a host of 1.1 leaves that. */
	int32_t ready;
};

/** @name Phases (rh_replica_state.phase) @{ */
#define RH_PHASE_ABSENT 0    /**< there is no pod */
#define RH_PHASE_PENDING 1   /**< the pod has not started */
#define RH_PHASE_RUNNING 2   /**< at least one container runs */
#define RH_PHASE_SUCCEEDED 3 /**< all containers ended with 0 */
#define RH_PHASE_FAILED 4    /**< it ended otherwise */
/** @} */

/** How one replica does. */
struct rh_replica_state {
	struct rh_head head; /**< set by the caller to RH_HEAD(struct rh_replica_state); the host fills what fits */
	int32_t phase;       /**< RH_PHASE_* */
	int32_t exit_code;   /**< of the main container once it ended, 128 + signal for a signal; else -1 */
	/** Since 1.2. 1 when the pod has the condition Ready, else 0. Set it to -1 before the call, as rh_counts.ready. */
	int32_t ready;
};

/** @name What judge() may say (rh_services.verdict) @{ */
#define RH_VERDICT_RUNNING 1    /**< the job runs */
#define RH_VERDICT_SUCCEEDED 2  /**< the job is done; final */
#define RH_VERDICT_FAILED 3     /**< the job has failed; final, unless RH_VERDICT_SUCCEEDED was said in the same call */
#define RH_VERDICT_RESTARTING 4 /**< replicas are being restarted */
/** @} */

/** @name Levels of a note (rh_services.note) @{ */
#define RH_NOTE_DEBUG 0 /**< for people who debug a plugin */
#define RH_NOTE_INFO 1  /**< worth a log line */
#define RH_NOTE_WARN 2  /**< the user should change something; shown by lint and as an event */
/** @} */

/** @name Since 1.2: how an object of objects() is kept (rh_object_options.flags) @{ */
#define RH_OBJECT_ONCE UINT32_C(1)   /**< made when it is missing, never compared or written again */
#define RH_OBJECT_RETAIN UINT32_C(2) /**< no owner: it stays when the job goes */
#define RH_OBJECT_PAIR UINT32_C(4)   /**< with ONCE: the bytes for make() are a new pair of keys (RH_PAIR_BYTES) */
/** @} */

/** Since 1.2, for restart(): it does not count against backoffLimit. */
#define RH_RESTART_FREE UINT32_C(1)
/** Since 1.2. Keys on P-521: the private number (66 bytes, the highest first), the public point (133, uncompressed). */
#define RH_PAIR_BYTES 199

/** Since 1.2. How an object of objects() is kept. */
struct rh_object_options {
	struct rh_head head; /**< RH_HEAD(struct rh_object_options) */
	uint32_t flags;      /**< RH_OBJECT_* */
	/** with ONCE: how many bytes make() gets, 0 to 256, with PAIR RH_PAIR_BYTES; 0: the object is made as named */
	uint32_t random_bytes;
};

/** Since 1.2. The object that make() is to make. */
struct rh_made {
	struct rh_head head;     /**< filled by the host */
	const char *api_version; /**< as objects() named it, like kind and name */
	const char *kind;        /**< "Secret" */
	const char *name;        /**< its metadata.name */
	const uint8_t *random;   /**< bytes from the kernel or a new pair, fresh for each call; overwritten after it */
	uint32_t random_bytes;   /**< how many */
};

/**
 * Services of the host. Append only. Paths are those of the job object: "spec.elasticPolicy.rdzvConf[0].key"; since
 * 1.2 also of an object that the job names, below "@" and a name (lookup).
 */
struct rh_services {
	struct rh_head head; /**< check RH_HAS before using a service that a later minor version added */

	/**
	 * Read a string or, printed, a number or boolean. metadata.namespace is always there.
	 * @return borrowed, or NULL when absent, null, or a map or list
	 */
	const char *(*text)(const struct rh_view *view, const char *path);
	/** Read an integer. @return 1 and *@p ret_value set; 0 when absent, null or no integer */
	int32_t (*integer)(const struct rh_view *view, const char *path, int64_t *ret_value);
	/** Read a boolean. @return 1 for true, 0 for false, absent or anything else */
	int32_t (*boolean)(const struct rh_view *view, const char *path);
	/** @return number of items or members at @p path; -1 when it is absent, null or a scalar */
	int32_t (*size)(const struct rh_view *view, const char *path);
	/** Read any value as JSON text. @return borrowed, or NULL when absent or memory is out */
	const char *(*json)(const struct rh_view *view, const char *path);
	/**
	 * Write @p text as a JSON string, quotes included, for edit() and object().
	 * @return borrowed, or NULL when @p text is NULL or memory is out
	 */
	const char *(*quote)(const struct rh_view *view, const char *text);
	/** Read a setting of this plugin: section [plugin NAME]. @return borrowed, or NULL when unset */
	const char *(*setting)(const struct rh_view *view, const char *key);

	/**
	 * List the replica types that the job has, also those that only RH_KIND_OPEN_TYPES lets in: those of the kind in
	 * its order, then the others by name.
	 * @return type number @p place (0 …), borrowed, or NULL after the last
	 */
	const char *(*type)(const struct rh_view *view, uint32_t place);
	/** @return the replicas that the job wants of @p type, defaults applied; -1 when it has no such type */
	int32_t (*replicas)(const struct rh_view *view, const char *type);
	/** @return "Always", "OnFailure", "Never" or "ExitCode", defaults applied; NULL when there is no such type */
	const char *(*restart_policy)(const struct rh_view *view, const char *type);
	/**
	 * What the pod of replica @p index of @p type is called: for tools that ask for a pod, not for an address.
	 * @return borrowed; NULL when there is no such type or memory is out
	 */
	const char *(*pod_name)(const struct rh_view *view, const char *type, int32_t index);
	/**
	 * Where replica @p index of @p type is reached: V1's Service name on a cluster, an address locally.
	 * @return borrowed; NULL when there is no such type or memory is out
	 */
	const char *(*host)(const struct rh_view *view, const char *type, int32_t index);
	/**
	 * Which number the port named rh_kind.port_name has at that replica.
	 * @return 1 to 65535; -1 when there is no such type
	 */
	int32_t (*port)(const struct rh_view *view, const char *type, int32_t index);

	/** @return the RH_STATE_* flags that hold */
	uint32_t (*state)(const struct rh_view *view);
	/** @return how often all replicas were restarted together so far (restart scope "job"): 0 for the first attempt */
	int32_t (*attempt)(const struct rh_view *view);
	/** For judge(): count the replicas of @p type. @return 1; 0 when the job has no such type */
	int32_t (*counts)(const struct rh_view *view, const char *type, struct rh_counts *ret_counts);
	/**
	 * For judge() and objects(): look at one replica.
	 * @return 1; 0 when the job has no such replica, or when nothing was observed (render)
	 */
	int32_t (*replica)(const struct rh_view *view, const char *type, int32_t index, struct rh_replica_state *ret_state);
	/** For judge(): @return 1 when the job's condition @p type, as the kind calls it, is True */
	int32_t (*condition)(const struct rh_view *view, const char *type);

	/** For init() and all operations: give up with @p code, in the words of @p text. @return @p code */
	int32_t (*fail)(struct rh_reply *reply, int32_t code, const char *text);
	/**
	 * Add a log line (RH_NOTE_*); in validate() a RH_NOTE_WARN becomes a warning that users see.
	 * @return 0 or a negative status
	 */
	int32_t (*note)(struct rh_reply *reply, int32_t level, const char *text);
	/**
	 * For validate() and, since 1.2, expand(): refuse the job. @p detail uses the words of Kubernetes: "Required value:
	 * must be configured", "Forbidden: must be 1". May be called several times. @return 0 or a negative status
	 */
	int32_t (*refuse)(struct rh_reply *reply, const char *path, const char *detail);
	/**
	 * For pod(): append a variable to every regular container, or to @p container alone when it is not NULL.
	 * @return 0 or a negative status
	 */
	int32_t (*env)(struct rh_reply *reply, const char *container, const char *name, const char *value);
	/**
	 * For pod(): set what stands at @p path of the Pod ("spec.hostNetwork") to the value @p json; missing maps and
	 * lists are made on the way, and "[+]" appends to a list: "spec.initContainers[+]". A key with dots stands in
	 * brackets and quotes. apiVersion, kind, status, metadata.namespace and metadata.ownerReferences are the core's.
	 * Since 1.2 also for objects(): of the object named last, but for apiVersion, kind, metadata and status.
	 * @return 0 or a negative status (RH_EPLUGIN: no JSON, or no such path)
	 */
	int32_t (*edit)(struct rh_reply *reply, const char *path, const char *json);
	/**
	 * For objects(): one object that the job needs beside pods and Services, as JSON with apiVersion, kind and
	 * metadata.name; the host adds namespace and owner. @return 0 or a negative status
	 */
	int32_t (*object)(struct rh_reply *reply, const char *json);
	/**
	 * For judge(): say one RH_VERDICT_*. @p type is the replica type that causes FAILED or RESTARTING, else NULL. @p
	 * message is for the condition; NULL takes the core's words. May be called several times; of RUNNING and
	 * RESTARTING, which exclude each other, say only one. @return 0 or a negative status
	 */
	int32_t (*verdict)(struct rh_reply *reply, int32_t verdict, const char *type, const char *message);

	/**
	 * Since 1.2, like all that follow. List the keys of the map at @p path ("": the job itself), in the order of the
	 * document. @return key number @p place (0 ...), borrowed; NULL after the last, and where there is no map
	 */
	const char *(*key)(const struct rh_view *view, const char *path, uint32_t place);
	/**
	 * Make the path of the member @p key of the map at @p path ("": the job itself), in brackets and quotes where it
	 * needs them: spec.template.metadata.labels["a.b/c"]. The member need not exist.
	 * @return borrowed; NULL when memory is out, and for a key that no path can have: one that is empty or has "] in it
	 */
	const char *(*member)(const struct rh_view *view, const char *path, const char *key);
	/** @return the gang scheduler of the configuration, as schedulerName has it: "volcano"; NULL: there is none */
	const char *(*gang)(const struct rh_view *view);
	/**
	 * Since 1.2. For objects(): object() with a way to keep the object; @p options NULL is object().
	 *
	 * RH_OBJECT_ONCE: the JSON has apiVersion, kind and metadata, and nothing secret. When the job has no such object,
	 * make() is called with random_bytes fresh bytes, and what it answers is created; with random_bytes 0 the JSON
	 * itself is. Its content is never read, compared or written again. One that is gone is made anew, with other
	 * bytes; one that somebody else made in its place is replaced before pods use it. At most 32 objects of a job.
	 *
	 * RH_OBJECT_RETAIN: the object has no owner and is never deleted by the host; it is found again by its name and the
	 * label roundhouse.dev/job-uid. Not together with random_bytes.
	 * @return 0 or a negative status
	 */
	int32_t (*object_with)(struct rh_reply *reply, const char *json, const struct rh_object_options *options);
	/**
	 * Since 1.2. For judge(): create no pod for replica @p index of @p type (-1: for none of the type) now. Pods that
	 * exist go on. A judge() that does not say it any more lets the pods be created. @p reason is for people.
	 * @return 0 or a negative status (RH_EPLUGIN: no such replica, or no reason)
	 */
	int32_t (*hold)(struct rh_reply *reply, const char *type, int32_t index, const char *reason);
	/**
	 * verdict() with the reason of the condition and of its Event: a word that begins with a capital letter, or two of
	 * them with "/" between, at most 128 characters: "Evicted", "BackoffLimitExceeded/OOMKilled". NULL: the core's.
	 * @return 0 or a negative status
	 */
	int32_t (*conclude)(struct rh_reply *reply, int32_t verdict, const char *type, const char *reason,
	                    const char *message);
	/**
	 * Since 1.2. For judge(): set member @p field of status, which rh_kind.status_schema declares, to the value @p
	 * json; "null" removes it. A member that judge() does not mention stays as it is, so that a value which others
	 * write is kept. A kind with status_schema is judged while it is suspended, and after its end (state()), too, as
	 * long as its pods change; of these answers status() alone counts. Reads below "status." show what was written
	 * last. At most 64 KiB of JSON in one call.
	 * @return 0 or a negative status (RH_EPLUGIN: no such field, or no JSON)
	 */
	int32_t (*status)(struct rh_reply *reply, const char *field, const char *json);
	/**
	 * Since 1.2. Ask for an entry of rh_kind.lookups. Paths of all services that read begin with "@NAME." for the
	 * object that was found: text(view, "@runtime.spec.image"); size(view, "@runtime"); so may the path of refuse().
	 * @return RH_LOOKUP_*; -1: the kind has no such entry
	 */
	int32_t (*lookup)(const struct rh_view *view, const char *name);
	/**
	 * Since 1.2. For expand(): the replica types of the job, once in a call, as a JSON object with
	 *  - "types": 1 to 16 objects, in start order, with "name" (letters, digits and '-' between them, a letter first;
	 *    unique without regard to case), "template" (a PodTemplateSpec), and where they are wished "replicas" (absent:
	 *    1, or default_replicas of a type in rh_kind.types), "restartPolicy" (Always, OnFailure, Never or ExitCode;
	 *    absent: the kind's) and "flags" (ranked, leader, unindexed: as RH_REPLICA_*; a type in rh_kind.types has its
	 *    own);
	 *  - where it is wished "runPolicy": any of activeDeadlineSeconds, backoffLimit, cleanPodPolicy and
	 *    ttlSecondsAfterFinished, which take the place of those of the job.
	 * Pods are checked by the rules for those of a job file.
	 * @return 0 or a negative status (RH_EPLUGIN: no JSON, or a member that does not fit; the message has its path)
	 */
	int32_t (*expansion)(struct rh_reply *reply, const char *json);
	/**
	 * Since 1.2. For judge(): stop pods, and start replicas anew when these are gone: of the job (@p type NULL, @p
	 * index -1; attempt() grows), of @p type (@p index -1), or one. Successes run again, too. @p token NULL, or 1 to 63
	 * of A-Z a-z 0-9 . _ -: once for each that is not the last of the job or type; not for one replica. restartPolicy
	 * does not judge these failures. It counts one against backoffLimit but for RH_RESTART_FREE in @p flags. FAILED and
	 * SUCCEEDED go before it. @p message NULL: the core's words. @return 0 or a negative status
	 */
	int32_t (*restart)(struct rh_reply *reply, const char *type, int32_t index, uint32_t flags, const char *token,
	                   const char *message);
};

/** What a plugin gives to the host. Append only; an operation that is NULL means the core's default. */
struct rh_plugin {
	struct rh_head head; /**< RH_HEAD(struct rh_plugin) */
	const char *name;    /**< "pytorch": lower-case letters, digits, '-'; what allow-lists and configuration use */
	const char *release; /**< the plugin's own version, for people: "0.1.0" */
	/**
	 * Called once after loading. @p services lives as long as the plugin. @param[out] ret_self handed to every
	 * operation, may stay NULL
	 * @return 0, or a negative status: the plugin is then in state failed and its kinds are not available
	 */
	int32_t (*init)(const struct rh_services *services, void **ret_self, struct rh_reply *reply);
	/** Called once at the end, when init() had succeeded. May be NULL. */
	void (*fini)(void *self);
	/**
	 * Required; at least one kind. A plugin that is not started (it is not allowed, or its init() failed) may be asked,
	 * too, with @p self NULL, so that whoever misses a kind can be told which plugin has it.
	 * @return the kind number @p index (0 …), or NULL after the last
	 */
	const struct rh_kind *(*describe)(void *self, uint32_t index);
	/** Refuse what this framework cannot run, beyond the rules of rh_kind and rh_replica_type. */
	int32_t (*validate)(void *self, const struct rh_view *view, struct rh_reply *reply);
	/**
	 * Add to one replica's pod what its processes need to find each other. The pod has the template, labels and ports
	 * already.
	 */
	int32_t (*pod)(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);
	/** Name the further objects that the job needs now; one that was named before and is not any more is deleted. */
	int32_t (*objects)(void *self, const struct rh_view *view, struct rh_reply *reply);
	/**
	 * Say what the counts mean. RH_DEFAULT instead of 0 adds what the core would say. The core's default: the leader
	 * type decides (all of it succeeded: SUCCEEDED, and nothing else; some active: RUNNING), or else the first type;
	 * failed replicas of any type: FAILED; restarting ones: RESTARTING instead of RUNNING.
	 */
	int32_t (*judge)(void *self, const struct rh_view *view, struct rh_reply *reply);
	/**
	 * Since 1.1. The keys that section [plugin NAME] of the configuration may have, as a JSON object of small schemas:
	 * "type" (string, integer or boolean; required), "minimum" and "maximum" of an integer, "enum" (an array of texts),
	 * "format" of a string (image, domain, or containers: see below), "default" and "description". Unknown keys and
	 * values that do not fit are refused before anything else happens. NULL: the section is free.
	 *
	 * format "containers": the value names a YAML file with a list of containers, in which {{.NAME}} stands for what
	 * the plugin fills in, each NAME listed in "variables". setting() then gives its content instead: one JSON object
	 * for each container, each ended by a line feed, with {{.NAME}} left in its strings.
	 */
	const char *settings;
	/**
	 * Since 1.2. Definitions that the plugin brings and that are no kinds of jobs, for objects that its jobs name: a
	 * JSON array of objects with "group", "version", "kind", "plural", "singular", "scope" (Cluster or Namespaced) and
	 * "schema" (OpenAPI v3 "properties" of the object beside apiVersion, kind and metadata; a "status" gets a
	 * subresource), and where they are wished "columns" (as rh_kind.columns) and "shortNames". NULL: none. `roundhouse
	 * crds`, `manifests` and `explain` show them like kinds, and `lint` checks objects of them.
	 */
	const char *resources;
	/**
	 * Since 1.2. Make an object that objects() named with random_bytes: answer with one object() of the apiVersion,
	 * kind and name of @p made. A pure function of view and bytes: keys and certificates are derived from the bytes. It
	 * is called for each create, not at each decision, and the host never logs or prints what it answers.
	 */
	int32_t (*make)(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply);
	/**
	 * Since 1.2. For kinds with RH_KIND_EXPANDED, which need it: answer with one expansion(), or refuse() the job. It
	 * is called before all other operations, once for each change of the job or of an object that it names. The view
	 * has apiVersion, kind, name, namespace, uid, labels, annotations (but for those of roundhouse.dev/) and spec of
	 * the job, the objects that it names, and settings; there are no replicas, addresses, states and conditions.
	 */
	int32_t (*expand)(void *self, const struct rh_view *view, struct rh_reply *reply);
};

/** Type of the one exported function. @return static data, never NULL */
typedef const struct rh_plugin *rh_plugin_entry_fn(void);

/** Name of the entry function of this major version. */
#define RH_PLUGIN_SYMBOL "rh_plugin_entry_v1"

/** Marks the one exported function. */
#define RH_PLUGIN_EXPORT __attribute__((visibility("default")))

/** The entry function. A plugin defines it, with RH_PLUGIN_EXPORT. @return the plugin's table, static storage */
RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void);

#ifdef __cplusplus
}
#endif

#endif
