/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ini.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/os/trust.h"
#include "base/str.h"
#include "config/fabric.h"
#include "config/setting.h"

/** Largest configuration file, in bytes. */
#define CONFIG_FILE_MAX (1024u * 1024)
/** Ports below this one are the system's. */
#define CONFIG_PORT_MIN 1024
/** As often as a Kubernetes Job is retried whose backoffLimit is not set. */
#define CONFIG_MAX_RESTARTS 6
/** Longest time that a plugin may be given. */
#define CONFIG_TIME_LIMIT_MAX (3600 * RH_SECOND)
/** Room for the path of the running program. */
#define CONFIG_PATH_SIZE 4096

/** What the reader of one file carries along. */
struct config_reader {
	struct rh_config *config;
	char *folder;     /**< of the file; owned */
	const char *name; /**< of the file */
	int line;         /**< that is being read */
};

/** Reads the value of one key. */
typedef int config_read_fn(struct config_reader *reader, const char *key, const char *value, struct rh_error *err);

/** A key that is known. */
struct config_key {
	const char *section;
	const char *key;
	config_read_fn *read;
};

static void config_free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		rh_free(texts[i]);
	rh_free(texts);
}

static int config_append(char ***texts, size_t *count, char *text)
{
	char **grown = text ? rh_realloc_array(*texts, *count + 1, sizeof(*grown)) : NULL;

	if (!grown) {
		rh_free(text);
		return RH_ENOMEM;
	}
	grown[(*count)++] = text;
	*texts = grown;
	return 0;
}

/** Call for each piece of @p text between @p separators; empty ones are left out. */
static int config_split(const char *text, const char *separators, const char *folder, char ***ret_texts,
                        size_t *ret_count)
{
	char **texts = NULL;
	size_t count = 0;

	while (*(text += strspn(text, separators))) {
		size_t length = strcspn(text, separators);
		rh_auto_free char *piece = rh_strndup(text, length);
		int r = RH_ENOMEM;

		if (piece)
			r = config_append(&texts, &count, folder ? rh_path_join(folder, piece) : rh_take(piece));
		if (r < 0) {
			config_free_texts(texts, count);
			return r;
		}
		text += length;
	}
	*ret_texts = texts;
	*ret_count = count;
	return 0;
}

static int config_read_path(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	struct rh_config *config = reader->config;
	char **dirs;
	size_t count;

	(void)key;
	if (config->plugin_dirs_fixed)
		return 0;
	if (config_split(value, ":", reader->folder, &dirs, &count) < 0)
		return rh_fail_oom(err);
	config_free_texts(config->plugin_dirs, config->plugin_dir_count);
	config->plugin_dirs = dirs;
	config->plugin_dir_count = count;
	return 0;
}

static int config_read_allow(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	struct rh_config *config = reader->config;
	char **names;
	size_t count;

	(void)key;
	if (config_split(value, ", \t", NULL, &names, &count) < 0)
		return rh_fail_oom(err);
	config_free_texts(config->plugin_allow, config->plugin_allow_count);
	config->plugin_allow = names;
	config->plugin_allow_count = count;
	return 0;
}

static int config_read_time_limit(struct config_reader *reader, const char *key, const char *value,
                                  struct rh_error *err)
{
	int64_t limit;

	if (rh_duration_parse(value, &limit, NULL) < 0 || limit < RH_SECOND || limit > CONFIG_TIME_LIMIT_MAX)
		return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a duration between 1s and 1h; write for example 30s", key,
		               value);
	reader->config->plugin_time_limit = limit;
	return 0;
}

static int config_read_isolation(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	int r = rh_isolation_parse(value, &reader->config->plugin_isolation, err);

	return r < 0 ? rh_wrap(err, r, "%s", key) : 0;
}

static int config_read_duration(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	struct rh_config *config = reader->config;
	int64_t duration;

	if (rh_duration_parse(value, &duration, NULL) < 0 || duration < 0)
		return rh_fail(err, RH_EINVAL, "%s: \"%s\" is not a duration; write for example 500ms, 30s or 5m", key, value);
	if (strcmp(key, "restart-backoff") == 0)
		config->restart_backoff = duration;
	else if (strcmp(key, "restart-backoff-max") == 0)
		config->restart_backoff_max = duration;
	else
		config->grace_period = duration;
	return 0;
}

int rh_config_count(const char *text, int64_t *ret_count, struct rh_error *err)
{
	char *end;
	long count = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || count > INT32_MAX)
		return rh_fail(err, RH_EINVAL, "\"%s\" is not a count; write a whole number from 0 to %d", text, INT32_MAX);
	*ret_count = count;
	return 0;
}

static int config_read_count(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	int r = rh_config_count(value, &reader->config->max_restarts, err);

	return r < 0 ? rh_wrap(err, r, "%s", key) : 0;
}

static int config_read_state_dir(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	char *path;

	if (!*value)
		return rh_fail(err, RH_EINVAL, "%s is empty; name a folder, or leave the key out", key);
	path = rh_path_join(reader->folder, value);
	if (!path)
		return rh_fail_oom(err);
	rh_free(reader->config->state_dir);
	reader->config->state_dir = path;
	reader->config->state_dir_named = true;
	return 0;
}

static int config_read_ports(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	char *end;
	long first = strtol(value, &end, 10);
	long last = *end == '-' ? strtol(end + 1, &end, 10) : -1;

	if (*end || first < CONFIG_PORT_MIN || last > UINT16_MAX || first > last)
		return rh_fail(err, RH_EINVAL,
		               "%s: \"%s\" is not a range of ports; write FIRST-LAST between %d and %d, as 20000-29999", key,
		               value, CONFIG_PORT_MIN, UINT16_MAX);
	reader->config->port_first = (int32_t)first;
	reader->config->port_last = (int32_t)last;
	return 0;
}

static int config_read_gang(struct config_reader *reader, const char *key, const char *value, struct rh_error *err)
{
	int r = rh_gang_parse(value, &reader->config->gang, err);

	return r < 0 ? rh_wrap(err, r, "%s", key) : 0;
}

static int config_keep(const struct config_reader *reader, const char *section, const char *key, const char *value,
                       struct rh_error *err)
{
	rh_auto_free char *origin = rh_asprintf("%s:%d", reader->name, reader->line);

	return origin && rh_config_set(reader->config, section, key, value, origin) == 0 ? 0 : rh_fail_oom(err);
}

/* What these mean is the controller's to know: they are its options. */
static int config_read_controller(struct config_reader *reader, const char *key, const char *value,
                                  struct rh_error *err)
{
	const struct rh_setting_rule *rule = rh_setting_controller(key);
	int r = rule ? rh_setting_check(rule, value, err) : 0;

	return r < 0 ? r : config_keep(reader, "controller", key, value, err);
}

static const struct config_key config_keys[] = {
	{"plugins", "path", config_read_path},
	{"plugins", "allow", config_read_allow},
	{"plugins", "time-limit", config_read_time_limit},
	{"plugins", "isolation", config_read_isolation},
	{"controller", "gang-scheduler", config_read_gang},
	{"controller", "namespace", config_read_controller},
	{"controller", "enable-scheme", config_read_controller},
	{"controller", "leader-elect", config_read_controller},
	{"controller", "leader-election-id", config_read_controller},
	{"controller", "leader-election-namespace", config_read_controller},
	{"controller", "metrics-bind-address", config_read_controller},
	{"controller", "health-probe-bind-address", config_read_controller},
	{"controller", "kube-api-qps", config_read_controller},
	{"controller", "kube-api-burst", config_read_controller},
	{"controller", "webhook-server-port", config_read_controller},
	{"controller", "webhook-cert-dir", config_read_controller},
	{"controller", "webhook-service-name", config_read_controller},
	{"controller", "webhook-secret-name", config_read_controller},
	{"controller", "log-format", config_read_controller},
	{"local", "restart-backoff", config_read_duration},
	{"local", "restart-backoff-max", config_read_duration},
	{"local", "max-restarts", config_read_count},
	{"local", "grace-period", config_read_duration},
	{"local", "state-dir", config_read_state_dir},
	{"local", "ports", config_read_ports},
};

#define CONFIG_KEYS (sizeof(config_keys) / sizeof(config_keys[0]))

static bool config_is_free_section(const char *section)
{
	return strcmp(section, "images") == 0 || (rh_starts_with(section, "plugin ") && section[strlen("plugin ")]);
}

int rh_config_set(struct rh_config *config, const char *section, const char *key, const char *value, const char *origin)
{
	struct rh_setting *grown = rh_realloc_array(config->settings, config->setting_count + 1, sizeof(*grown));
	rh_auto_free char *section_copy = rh_strdup(section);
	rh_auto_free char *key_copy = rh_strdup(key);
	rh_auto_free char *value_copy = rh_strdup(value);
	rh_auto_free char *origin_copy = rh_strdup(origin);

	if (grown)
		config->settings = grown;
	if (!grown || !section_copy || !key_copy || !value_copy || !origin_copy)
		return RH_ENOMEM;
	grown[config->setting_count++] = (struct rh_setting){
		.section = rh_take(section_copy),
		.key = rh_take(key_copy),
		.value = rh_take(value_copy),
		.origin = rh_take(origin_copy),
	};
	return 0;
}

static int config_refuse_section(const char *section, const char *key, struct rh_error *err)
{
	static const char *const sections[] = {"plugins", "plugin NAME", "controller", "local",
	                                       "images",  "comm",        "comm NAME"};
	const char *near = rh_nearest(section, sections, sizeof(sections) / sizeof(sections[0]));

	if (!*section)
		return rh_fail(err, RH_EINVAL, "key \"%s\" stands before any section; write [SECTION] above it", key);
	if (near)
		return rh_fail(err, RH_EINVAL, "unknown section [%s]; did you mean [%s]?", section, near);
	return rh_fail(
		err, RH_EINVAL,
		"unknown section [%s]; there are [plugins], [plugin NAME], [controller], [local], [images], [comm] and "
		"[comm NAME]",
		section);
}

static int config_refuse_key(const char *section, const char *key, struct rh_error *err)
{
	const char *keys[CONFIG_KEYS];
	rh_auto_str known = {0};
	size_t count = 0;
	const char *near;

	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		if (strcmp(config_keys[i].section, section) == 0)
			keys[count++] = config_keys[i].key;
	}
	near = rh_nearest(key, keys, count);
	if (near)
		return rh_fail(err, RH_EINVAL, "unknown key \"%s\" in section [%s]; did you mean \"%s\"?", key, section, near);
	for (size_t i = 0; i < count; i++)
		rh_str_appendf(&known, "%s%s", i > 0 ? ", " : "", keys[i]);
	return rh_fail(err, RH_EINVAL, "unknown key \"%s\" in section [%s]; there are %s", key, section,
	               rh_str_text(&known));
}

static bool config_is_section(const char *section)
{
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		if (strcmp(config_keys[i].section, section) == 0)
			return true;
	}
	return false;
}

static int config_take(void *arg, const char *section, const char *key, const char *value, int line,
                       struct rh_error *err)
{
	struct config_reader *reader = arg;

	reader->line = line;
	if (config_is_free_section(section))
		return config_keep(reader, section, key, value, err);
	if (rh_fabric_is_section(section)) {
		int r = rh_fabric_check(section, key, value, err);

		return r < 0 ? r : config_keep(reader, section, key, value, err);
	}
	if (!config_is_section(section))
		return config_refuse_section(section, key, err);
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		if (strcmp(config_keys[i].section, section) == 0 && strcmp(config_keys[i].key, key) == 0)
			return config_keys[i].read(reader, key, value, err);
	}
	return config_refuse_key(section, key, err);
}

int rh_config_parse(struct rh_config *config, const char *name, const char *text, size_t length, struct rh_error *err)
{
	rh_auto_free char *folder = rh_path_folder(name);
	struct config_reader reader = {.config = config, .folder = folder, .name = name};
	int r;

	if (!folder)
		return rh_fail_oom(err);
	r = rh_ini_parse(name, text, length, config_take, &reader, err);
	if (r < 0)
		return r;
	if (config->restart_backoff_max < config->restart_backoff)
		return rh_fail(err, RH_EINVAL, "%s: restart-backoff-max is shorter than restart-backoff; raise it", name);
	return 0;
}

/** Open a configuration file that others cannot change. A pipe, as a shell's <(command) is one, has no name to check.
 */
static int config_open(const char *path, int *ret_fd, struct rh_error *err)
{
	rh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char real[PATH_MAX];
	char why[RH_ERROR_MESSAGE_SIZE];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return rh_fail(err, errno == ENOENT ? RH_ENOENT : RH_EIO, "cannot open \"%s\": %s", path, strerror(errno));
	if (S_ISFIFO(st.st_mode) && st.st_uid != 0 && st.st_uid != geteuid())
		return rh_fail(err, RH_EINVAL, "configuration \"%s\": the pipe belongs to user %lu", path,
		               (unsigned long)st.st_uid);
	if (!S_ISREG(st.st_mode)) {
		*ret_fd = fd;
		fd = -1;
		return 0;
	}
	*ret_fd = rh_trust_open(path, "/proc/self/exe", real, why, sizeof(why));
	return *ret_fd < 0 ? rh_fail(err, RH_EINVAL, "configuration \"%s\": %s", path, why) : 0;
}

int rh_config_read(struct rh_config *config, const char *path, struct rh_error *err)
{
	rh_auto_close int fd = -1;
	rh_auto_free char *text = NULL;
	size_t length;
	int r;

	if (strcmp(path, "-") == 0) {
		r = rh_file_read(path, CONFIG_FILE_MAX, &text, &length, err);
	} else {
		r = config_open(path, &fd, err);
		if (r == 0)
			r = rh_fd_read(fd, path, CONFIG_FILE_MAX, &text, &length, err);
	}
	return r < 0 ? r : rh_config_parse(config, path, text, length, err);
}

/**
 * Find the folder of the running program. @param[out] ret_folder owned by the caller; NULL when it is unknown.
 * @return 0 or RH_ENOMEM
 */
static int config_program_dir(char **ret_folder)
{
	char path[CONFIG_PATH_SIZE];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	*ret_folder = NULL;
	if (length <= 0)
		return 0;
	path[length] = '\0';
	*ret_folder = rh_path_folder(path);
	return *ret_folder ? 0 : RH_ENOMEM;
}

/** Append the folders of plugins that lie beside the program, in a build tree or an installation. */
static int config_add_dirs(struct rh_config *config)
{
	rh_auto_free char *program = NULL;
	int r = config_program_dir(&program);

	if (r < 0 || !program)
		return r;
	r = config_append(&config->plugin_dirs, &config->plugin_dir_count,
	                  rh_asprintf("%s/../lib/roundhouse/plugins", program));
	if (r < 0 || strcmp(RH_LIBDIR, "lib") == 0)
		return r;
	return config_append(&config->plugin_dirs, &config->plugin_dir_count,
	                     rh_asprintf("%s/../" RH_LIBDIR "/roundhouse/plugins", program));
}

static int config_init_dirs(struct rh_config *config)
{
	const char *path = getenv("ROUNDHOUSE_PLUGIN_PATH");

	if (!path || !*path)
		return config_add_dirs(config);
	config->plugin_dirs_fixed = true;
	return config_split(path, ":", NULL, &config->plugin_dirs, &config->plugin_dir_count);
}

static char *config_state_dir(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (runtime && runtime[0] == '/')
		return rh_asprintf("%s/roundhouse", runtime);
	return rh_asprintf("/tmp/roundhouse-%" PRIuMAX, (uintmax_t)geteuid());
}

struct rh_config *rh_config_new(void)
{
	rh_auto(config) config = rh_alloc(sizeof(*config));

	if (!config)
		return NULL;
	config->plugin_time_limit = 10 * RH_SECOND;
	config->plugin_isolation = RH_ISOLATION_FOREIGN;
	config->restart_backoff = RH_SECOND;
	config->restart_backoff_max = 300 * RH_SECOND;
	config->max_restarts = CONFIG_MAX_RESTARTS;
	config->grace_period = 30 * RH_SECOND;
	config->port_first = 20000;
	config->port_last = 29999;
	config->plugin_worker = rh_isolation_worker();
	config->state_dir = config_state_dir();
	if (!config->state_dir || config_init_dirs(config) < 0)
		return NULL;
	return rh_take(config);
}

void rh_config_free(struct rh_config *config)
{
	if (!config)
		return;
	config_free_texts(config->plugin_dirs, config->plugin_dir_count);
	config_free_texts(config->plugin_allow, config->plugin_allow_count);
	for (size_t i = 0; i < config->setting_count; i++) {
		rh_free(config->settings[i].section);
		rh_free(config->settings[i].key);
		rh_free(config->settings[i].value);
		rh_free(config->settings[i].origin);
		rh_free(config->settings[i].content);
	}
	rh_free(config->settings);
	rh_free(config->plugin_worker);
	rh_free(config->state_dir);
	rh_free(config);
}

const struct rh_setting *rh_config_find_setting(const struct rh_config *config, const char *section, const char *key)
{
	for (size_t i = config->setting_count; i > 0; i--) {
		const struct rh_setting *setting = &config->settings[i - 1];

		if (strcmp(setting->section, section) == 0 && strcmp(setting->key, key) == 0)
			return setting;
	}
	return NULL;
}

const char *rh_config_setting(const struct rh_config *config, const char *section, const char *key)
{
	const struct rh_setting *setting = rh_config_find_setting(config, section, key);

	return setting ? setting->value : NULL;
}

/** Read @p path if it is there. @return 1 when it was read, 0 when there is none, or as rh_config_read() */
static int config_try(struct rh_config *config, const char *path, struct rh_error *err)
{
	int r;

	if (!path)
		return rh_fail_oom(err);
	if (access(path, F_OK) != 0)
		return 0;
	r = rh_config_read(config, path, err);
	return r < 0 ? r : 1;
}

/** config_try() of what lies beside the program: A CMake cache distinguishes a build tree from an installation below
 * /usr. */
static int config_try_beside(struct rh_config *config, const char *program, struct rh_error *err)
{
	rh_auto_free char *beside = rh_asprintf("%s/../conf/roundhouse.ini", program);
	rh_auto_free char *cache = rh_asprintf("%s/../CMakeCache.txt", program);
	rh_auto_free char *source = rh_asprintf("%s/../../../conf/roundhouse.ini", program);
	int r = config_try(config, beside, err);

	if (r != 0)
		return r;
	if (!cache || !source)
		return rh_fail_oom(err);
	return access(cache, F_OK) == 0 ? config_try(config, source, err) : 0;
}

/** config_try() of what an installation below another prefix brought along, as /usr/local/etc. */
static int config_try_installed(struct rh_config *config, const char *program, struct rh_error *err)
{
	rh_auto_free char *installed = rh_asprintf("%s/../etc/roundhouse/roundhouse.ini", program);

	return config_try(config, installed, err);
}

int rh_config_find(struct rh_config *config, const char *path, struct rh_error *err)
{
	rh_auto_free char *program = NULL;
	const char *named = path ? path : getenv("ROUNDHOUSE_CONFIG");
	int r;

	if (named && *named)
		return rh_config_read(config, named, err);
	if (config_program_dir(&program) < 0)
		return rh_fail_oom(err);
	r = 0;
	if (program)
		r = config_try_beside(config, program, err);
	if (r == 0)
		r = config_try(config, "/etc/roundhouse/roundhouse.ini", err);
	if (r == 0 && program)
		r = config_try_installed(config, program, err);
	return r < 0 ? r : 0;
}
