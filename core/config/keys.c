/* SPDX-License-Identifier: Apache-2.0 */
#include "config/keys.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "config/config.h"
#include "config/fabric.h"
#include "config/first_fault.h"

/** Most keys of one section. */
#define KEYS_MAX 64
#define KEYS_COMM RH_FABRIC_SECTION
#define KEYS_PROFILE RH_FABRIC_SECTION " NAME"

/** A rule without a range. */
#define KEYS_RULE(key, type)      \
	{                             \
		(key), (type), 0, 0, NULL \
	}

static const struct rh_config_section keys_sections[] = {
	{"plugins", "Which plugins are loaded, and from where."},
	{"plugin NAME", "What one plugin alone understands; `roundhouse plugins list` shows the names."},
	{KEYS_COMM,
     "What the pods of jobs get whose processes use rh_comm, unless the job's template says otherwise. On one "
     "machine only the variables count."},
	{KEYS_PROFILE, "A profile: the same for one class of nodes. The first profile that fits a pod counts; what it does "
                   "not say, [comm] says."},
	{"controller", "Most of these keys are flags of `roundhouse controller`, too; the flags win."},
	{"local", "How `roundhouse run` treats the replicas of jobs on one machine."},
	{"images", "On one machine no image is pulled: the command of a container runs here. This section says with which "
               "environment."},
	{NULL, NULL},
};

static const struct rh_config_key keys_table[] = {
	{"plugins", KEYS_RULE("path", RH_SETTING_FOLDERS), NULL, "../lib/roundhouse/plugins",
     "Folders that are searched for plugins (*.so), separated by \":\". Relative ones start at the folder of this "
     "file. "
     "The default is lib/roundhouse/plugins beside the program's folder. $ROUNDHOUSE_PLUGIN_PATH comes before it.",
     "operations.md", 0},
	{"plugins", KEYS_RULE("allow", RH_SETTING_ALLOW), NULL, "pytorch, dask@sha256:HASH",
     "Plugins that may be loaded, separated by commas: NAME, or NAME@sha256:HASH with the SHA-256 of the file. The "
     "plugin "
     "NAME is the file NAME.so; others are not opened. Several lines add up. Without it all that are found are loaded. "
     "In "
     "a file of plugins.d it adds to the list of roundhouse.ini; where that has none, it limits nothing but checks the "
     "hashes. `roundhouse plugins pin` writes it.",
     "security.md#the-allow-list", 0},
	{"plugins", KEYS_RULE("public-key", RH_SETTING_PUBLIC_KEY), NULL,
     "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3",
     "A public key of minisign. Each plugin file NAME.so must then have a signature of its owner beside it, "
     "NAME.so.minisig. Without it no signature is needed.",
     "security.md#signatures", 0},
	{"plugins",
     {"time-limit", RH_SETTING_DURATION, 1, 3600, NULL},
     "10s",
     NULL,
     "The longest that a plugin may take for one operation. One that takes longer is left out, or, later, ends the "
     "program.",
     "plugin-abi.md#limits",
     offsetof(struct rh_config, plugin_time_limit)},
	{"plugins",
     {"isolation", RH_SETTING_ISOLATION, 0, 0, RH_ISOLATION_WORDS},
     NULL,
     "foreign",
     "Which plugins run in a process of their own: none; foreign, those that are not of this release; or process, all. "
     "What such a plugin does wrong fails the one job that it was called for. The controller's default is process, "
     "that "
     "of commands is foreign; --plugin-isolation comes before it.",
     "plugin-abi.md#limits",
     0},

	{KEYS_COMM, KEYS_RULE("backend", RH_SETTING_BACKEND), "none", NULL,
     "Which backend of rh_comm the processes of jobs use that do not say it by the annotation roundhouse.dev/comm: "
     "auto, "
     "native, ucx, mpi, nccl, or none, which adds nothing to their pods.",
     "comm.md", 0},
	{KEYS_COMM, KEYS_RULE("shm-size", RH_SETTING_SIZE), NULL, "1Gi",
     "Size of /dev/shm, which lies in memory and counts as the container's. Without it a container has 64 MiB.",
     "comm-python.md#in-jobs", 0},
	{KEYS_COMM, KEYS_RULE("image", RH_SETTING_IMAGE), NULL, "registry.example/roundhouse:0.1.0",
     "Image that brings the library into pods whose own image does not have it, by an init container; on a cluster "
     "only. It is that of packaging/image.sh. The library lies in /opt/roundhouse then, which PYTHONPATH names. "
     "Without "
     "it nothing is brought.",
     "comm-python.md#in-jobs", 0},
	{KEYS_COMM, KEYS_RULE("resources", RH_SETTING_PAIRS), NULL, "rdma/hca=1",
     "Resources of the main container, separated by commas. Without it there are those of the template.",
     "comm-python.md#in-jobs", 0},
	{KEYS_COMM, KEYS_RULE("capabilities", RH_SETTING_LIST), NULL, "IPC_LOCK",
     "Capabilities of the main container, separated by commas. Without it there are those of the template.",
     "comm-python.md#in-jobs", 0},
	{KEYS_COMM, KEYS_RULE(RH_FABRIC_ENV "NAME", RH_SETTING_ANY), NULL, "rc,sm,self",
     "The variable NAME of all containers. Without it none is set.", "comm-python.md#in-jobs", 0},

	{KEYS_PROFILE, KEYS_RULE("node-selector", RH_SETTING_PAIRS), NULL, "example.com/network=rdma",
     "The profile is for pods whose template has all of these labels in its nodeSelector. Without it every pod fits.",
     "comm-python.md#in-jobs", 0},
	{KEYS_PROFILE, KEYS_RULE("backends", RH_SETTING_LIST), NULL, "ucx, nccl",
     "The profile is for jobs with one of these backends. Without it each backend fits.", "comm-python.md#in-jobs", 0},
	{KEYS_PROFILE, KEYS_RULE("shm-size", RH_SETTING_SIZE), NULL, "8Gi", "As in [comm], which holds without it.",
     "comm-python.md#in-jobs", 0},
	{KEYS_PROFILE, KEYS_RULE("image", RH_SETTING_IMAGE), NULL, "registry.example/roundhouse:0.1.0",
     "As in [comm], which holds without it. Empty: pods have the library already.", "comm-python.md#in-jobs", 0},
	{KEYS_PROFILE, KEYS_RULE("resources", RH_SETTING_PAIRS), NULL, "rdma/hca=1",
     "As in [comm], which holds without it.", "comm-python.md#in-jobs", 0},
	{KEYS_PROFILE, KEYS_RULE("capabilities", RH_SETTING_LIST), NULL, "IPC_LOCK",
     "As in [comm], which holds without it.", "comm-python.md#in-jobs", 0},
	{KEYS_PROFILE, KEYS_RULE(RH_FABRIC_ENV "NAME", RH_SETTING_ANY), NULL, "mlx5_0:1",
     "As in [comm], which holds without it.", "comm-python.md#in-jobs", 0},

	{"controller", KEYS_RULE("gang-scheduler", RH_SETTING_GANG), "none", NULL,
     "The gang scheduler, which gets a PodGroup for each job: none, volcano, scheduler-plugins (its scheduler is "
     "called "
     "scheduler-plugins-scheduler), or scheduler-plugins:NAME.",
     "scheduling/gang.md", 0},
	{"controller", KEYS_RULE("kueue", RH_SETTING_TRUTH), "false", NULL,
     "Make a Workload of Kueue for each job that has the label kueue.x-k8s.io/queue-name, and let it run while that is "
     "admitted.",
     "scheduling/kueue.md", 0},
	{"controller", KEYS_RULE("namespace", RH_SETTING_NAMESPACE), "", NULL,
     "Serve the jobs of this namespace alone. Empty: all jobs. $KUBEFLOW_NAMESPACE holds without it.", "operations.md",
     0},
	{"controller", KEYS_RULE("enable-scheme", RH_SETTING_LIST), NULL, "pytorchjob, tfjob",
     "Kinds that are served, in any case, separated by commas. Without it every kind of the plugins is.",
     "operations.md", 0},
	{"controller", KEYS_RULE("leader-elect", RH_SETTING_TRUTH), "true", NULL, "Work only while holding the Lease.",
     "operations.md#election", 0},
	{"controller", KEYS_RULE("leader-election-id", RH_SETTING_NAME), "1ca428e5.training-operator.kubeflow.org", NULL,
     "Name of the Lease.", "operations.md#election", 0},
	{"controller", KEYS_RULE("leader-election-namespace", RH_SETTING_NAMESPACE), "", NULL,
     "Namespace of the Lease. Empty: the pod's own.", "operations.md#election", 0},
	{"controller", KEYS_RULE("metrics-bind-address", RH_SETTING_ADDRESS), ":8080", NULL,
     "Where /metrics is served. 0, or port 0 of any host: nowhere.", "operations.md", 0},
	{"controller", KEYS_RULE("health-probe-bind-address", RH_SETTING_ADDRESS), ":8081", NULL,
     "Where /healthz, /readyz and /debug/state are served. 0, or port 0 of any host: nowhere.", "operations.md", 0},
	{"controller",
     {"kube-api-qps", RH_SETTING_NUMBER, 0, 1e6, NULL},
     "0",
     NULL,
     "Writes per second to the API server. 0: as many as it answers well.",
     "operations.md",
     0},
	{"controller",
     {"kube-api-burst", RH_SETTING_INTEGER, 0, 1e6, NULL},
     "0",
     NULL,
     "How many writes may be ahead of that rate.",
     "operations.md",
     0},
	{"controller",
     {"webhook-server-port", RH_SETTING_INTEGER, 0, UINT16_MAX, NULL},
     "9443",
     NULL,
     "Where V1's webhooks are served if there is a certificate. 0: nowhere.",
     "operations.md",
     0},
	{"controller", KEYS_RULE("webhook-cert-dir", RH_SETTING_TEXT), "/tmp/k8s-webhook-server/serving-certs", NULL,
     "Folder with tls.crt and tls.key of the webhooks.", "operations.md", 0},
	{"controller", KEYS_RULE("webhook-service-name", RH_SETTING_NAME), "training-operator", NULL,
     "Service that their certificate is made for.", "operations.md", 0},
	{"controller", KEYS_RULE("webhook-secret-name", RH_SETTING_NAME), "training-operator-webhook-cert", NULL,
     "Secret that holds it, if there is one.", "operations.md", 0},
	{"controller",
     {RH_CONFIG_FIRST_FAULT, RH_SETTING_WORD, 0, 0, RH_CONFIG_FIRST_FAULT_WORDS},
     "status",
     NULL,
     "Where the controller learns what a failed container wrote. status: from the pods as they are. messages: "
     "containers "
     "whose template does not say otherwise get terminationMessagePolicy FallbackToLogsOnError, so that the status of "
     "their pods has the end of their output. logs: it reads their logs, which needs the right to get pods/log. The "
     "last "
     "lines are then shown in the job.",
     "operations.md#the-first-fault-of-a-job",
     0},
	{"controller",
     {"log-format", RH_SETTING_WORD, 0, 0, "text|json"},
     "text",
     NULL,
     "How to write log lines.",
     "operations.md",
     0},

	{"local",
     {"restart-backoff", RH_SETTING_DURATION, 0, 0, NULL},
     "1s",
     NULL,
     "First wait before a container that ended is started again in its place; it doubles each time.",
     "local.md",
     offsetof(struct rh_config, restart_backoff)},
	{"local",
     {"restart-backoff-max", RH_SETTING_DURATION, 0, 0, NULL},
     "5m",
     NULL,
     "The longest such wait.",
     "local.md",
     offsetof(struct rh_config, restart_backoff_max)},
	{"local", KEYS_RULE("max-restarts", RH_SETTING_COUNT), "6", NULL,
     "How often in a row a replica is restarted that fails within a minute, and each time in the same way, in a job "
     "without backoffLimit. Then the job fails. 0: for ever, as on a cluster. --max-restarts overrides it.",
     "local.md", offsetof(struct rh_config, max_restarts)},
	{"local", KEYS_RULE("progress", RH_SETTING_TRUTH), "true", NULL,
     "Whether replicas can report their progress to the run by the protocol of Kubeflow Trainer. The endpoint for that "
     "is there if a command of the jobs names Python. false: never, as with --no-progress.",
     "local.md#reports-of-progress", offsetof(struct rh_config, progress)},
	{"local", KEYS_RULE("keep-runs", RH_SETTING_COUNT), "200", NULL,
     "How many runs are kept in $XDG_STATE_HOME/roundhouse/runs; the oldest are removed. 0: none is kept.",
     "local.md#runs-are-kept", offsetof(struct rh_config, keep_runs)},
	{"local", KEYS_RULE("keep-mebibytes", RH_SETTING_COUNT), "4096", NULL,
     "How many MiB they may take together; the oldest are removed. 0: any number.", "local.md#runs-are-kept",
     offsetof(struct rh_config, keep_mebibytes)},
	{"local",
     {"grace-period", RH_SETTING_DURATION, 0, 0, NULL},
     "30s",
     NULL,
     "Time between SIGTERM and SIGKILL for a pod that does not set terminationGracePeriodSeconds.",
     "local.md",
     offsetof(struct rh_config, grace_period)},
	{"local", KEYS_RULE("state-dir", RH_SETTING_FOLDER), NULL, "/tmp/roundhouse-1000",
     "Folder for the locks that keep several roundhouse processes of this machine apart. The default is "
     "$XDG_RUNTIME_DIR/roundhouse, or /tmp/roundhouse-UID where that is not set.",
     "local.md", 0},
	{"local", KEYS_RULE("ports", RH_SETTING_PORTS), "20000-29999", NULL,
     "Ports for replicas. They must lie outside the range that the system gives to outgoing connections "
     "(/proc/sys/net/ipv4/ip_local_port_range), or another program may hold one already.",
     "local.md", 0},

	{"images", KEYS_RULE("IMAGE", RH_SETTING_ANY), NULL, "/opt/venvs/torch",
     "IMAGE is an image, with * and ? as wildcards; the first that fits counts, but one of the working directory's "
     "file "
     "comes before one of the user's file, and that before others. The value is a Python virtual environment, or a "
     "folder whose bin/ comes first in PATH, or a list of folders to put into PATH, separated by \":\". Relative ones "
     "start at the folder of the file, \"~/\" is the home folder. Without it the PATH of the caller holds.",
     "local.md", 0},
	{NULL, {NULL, RH_SETTING_ANY, 0, 0, NULL}, NULL, NULL, NULL, NULL, 0},
};

const struct rh_config_key *rh_config_keys(void)
{
	return keys_table;
}

const struct rh_config_section *rh_config_sections(void)
{
	return keys_sections;
}

static bool keys_is_plugin(const char *section)
{
	return rh_starts_with(section, RH_CONFIG_PLUGIN_SECTION " ") && section[strlen(RH_CONFIG_PLUGIN_SECTION " ")];
}

bool rh_config_is_free(const char *section)
{
	return strcmp(section, RH_CONFIG_IMAGES_SECTION) == 0 || keys_is_plugin(section);
}

const char *rh_config_section_of(const char *section)
{
	if (keys_is_plugin(section))
		return "plugin NAME";
	if (rh_fabric_is_section(section) && strcmp(section, KEYS_COMM) != 0)
		return KEYS_PROFILE;
	for (const struct rh_config_section *at = keys_sections; at->name; at++) {
		if (strcmp(at->name, section) == 0)
			return at->name;
	}
	return NULL;
}

static bool keys_fits(const struct rh_config_key *row, const char *key)
{
	if (strcmp(row->rule.key, RH_FABRIC_ENV "NAME") == 0)
		return rh_starts_with(key, RH_FABRIC_ENV) && key[strlen(RH_FABRIC_ENV)];
	return strcmp(row->section, RH_CONFIG_IMAGES_SECTION) == 0 || strcmp(row->rule.key, key) == 0;
}

const struct rh_config_key *rh_config_key(const char *section, const char *key)
{
	const char *name = rh_config_section_of(section);

	for (const struct rh_config_key *row = keys_table; name && row->section; row++) {
		if (strcmp(row->section, name) == 0 && keys_fits(row, key))
			return row;
	}
	return NULL;
}

int rh_config_refuse_section(const char *section, const char *key, struct rh_error *err)
{
	const char *names[sizeof(keys_sections) / sizeof(keys_sections[0])];
	rh_auto_str known = {0};
	size_t count = 0;
	const char *near;

	if (!*section)
		return rh_fail(err, RH_EINVAL, "key \"%s\" stands before any section; write [SECTION] above it", key);
	for (const struct rh_config_section *at = keys_sections; at->name; at++) {
		rh_str_appendf(&known, "%s[%s]", count == 0 ? "" : at[1].name ? ", " : " and ", at->name);
		names[count++] = at->name;
	}
	near = rh_nearest(section, names, count);
	if (near)
		return rh_fail(err, RH_EINVAL, "unknown section [%s]; did you mean [%s]?", section, near);
	return rh_fail(err, RH_EINVAL, "unknown section [%s]; there are %s", section, rh_str_text(&known));
}

int rh_config_refuse_key(const char *section, const char *key, struct rh_error *err)
{
	const char *name = rh_config_section_of(section);
	const char *keys[KEYS_MAX];
	rh_auto_str known = {0};
	size_t count = 0;
	const char *near;

	for (const struct rh_config_key *row = keys_table; row->section && count < KEYS_MAX; row++) {
		if (!name || strcmp(row->section, name) != 0)
			continue;
		rh_str_appendf(&known, "%s%s", count > 0 ? ", " : "", row->rule.key);
		keys[count++] = row->rule.key;
	}
	near = rh_nearest(key, keys, count);
	if (near)
		return rh_fail(err, RH_EINVAL, "unknown key \"%s\" in section [%s]; did you mean \"%s\"?", key, section, near);
	return rh_fail(err, RH_EINVAL, "unknown key \"%s\" in section [%s]; there are %s", key, section,
	               rh_str_text(&known));
}

/* Flags of the controller that are not keys. */
static const struct rh_setting_rule keys_flags[] = {
	{"context", RH_SETTING_TEXT, 0, 0, NULL},
	{"kubeconfig", RH_SETTING_TEXT, 0, 0, NULL},
	{"controller-threads", RH_SETTING_INTEGER, 1, INT32_MAX, NULL},
	{"zap-log-level", RH_SETTING_LEVEL, 0, 0, "debug|info|error|panic"},
	{"zap-stacktrace-level", RH_SETTING_WORD, 0, 0, "info|error|panic"},
	{"zap-time-encoding", RH_SETTING_WORD, 0, 0, "epoch|millis|nano|iso8601|rfc3339|rfc3339nano"},
};

const struct rh_setting_rule *rh_config_flag(const char *flag)
{
	const struct rh_config_key *row = rh_config_key("controller", flag);

	for (size_t i = 0; i < sizeof(keys_flags) / sizeof(keys_flags[0]); i++) {
		if (strcmp(keys_flags[i].key, flag) == 0)
			return &keys_flags[i];
	}
	return row ? &row->rule : NULL;
}
