/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/ps/protocol/fabric.h"
#include "comm/ps/scheduler/shards.h"

#define PART_DEFAULT 262144
#define PART_MIN 4096
#define GRACE RH_COMM_SECOND
#define SNAPSHOT (INT64_C(256) << 20)
#define PORT_MAX 65535
#define SLOW (10 * RH_COMM_SECOND)

/* What is read, and where from. */
struct settings_reader {
	struct rh_comm_variables variables;
	struct rh_ps_cluster cluster;
	const char *found_by;
	struct rh_ps_cluster found;
	struct rh_comm_error *err;
};

/* One number that several may know. */
struct settings_number {
	const char *what; /* name of the option */
	int64_t option;   /* its value */
	bool has_option;
	const char *names[3]; /* variables that may set it; NULL: no more */
	int64_t cluster;      /* value of TF_CONFIG; -1: none */
	int64_t found;        /* value of found_by; -1: none */
	int64_t min;
	int64_t max;
	int64_t fallback; /* default; below min: there is none */
};

/* A word for a number. */
struct settings_word {
	const char *word;
	int32_t value;
};

static const struct settings_word settings_modes[] = {
	{"sync", RH_PS_SYNC}, {"async", RH_PS_ASYNC}, {"stale", RH_PS_STALE}, {NULL, 0}};
static const struct settings_word settings_rules[] = {
	{"sum", RH_PS_SUM},   {"average", RH_PS_AVERAGE}, {"total", RH_PS_TOTAL},
	{"mean", RH_PS_MEAN}, {"sgd", RH_PS_SGD},         {"momentum", RH_PS_MOMENTUM},
	{"adam", RH_PS_ADAM}, {"adagrad", RH_PS_ADAGRAD}, {NULL, 0}};
static const struct settings_word settings_durables[] = {{"logged", RH_PS_LOGGED}, {"synced", RH_PS_SYNCED}, {NULL, 0}};

const char *rh_ps_getenv(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

void rh_ps_settings_free(struct rh_ps_settings *settings)
{
	free(settings->places);
	settings->places = NULL;
}

static const char *settings_text(const struct settings_reader *reader, const char *option, const char *name)
{
	if (option)
		return option[0] ? option : NULL;
	return rh_comm_env_text(&reader->variables, name);
}

static const char *settings_text_or_empty(const struct settings_reader *reader, const char *option, const char *name)
{
	const char *text = settings_text(reader, option, name);

	return text ? text : "";
}

static bool settings_is_off(const struct settings_reader *reader, const char *name)
{
	const char *text = settings_text(reader, NULL, name);

	return text && strcmp(text, "off") == 0;
}

/* Take the value of a source, unless another source has a different one. */
static int32_t settings_agree(const struct settings_reader *reader, const char **source, const char *name,
                              int64_t *known, int64_t value)
{
	if (*source && *known != value)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "%s gives %lld and %s gives %lld: unset one of them", *source, (long long)*known, name,
		                    (long long)value);
	*source = name;
	*known = value;
	return 0;
}

static int32_t settings_number(const struct settings_reader *reader, const struct settings_number *number,
                               int32_t *ret_value)
{
	const char *source = NULL;
	int64_t known = number->fallback;
	int64_t value = 0;
	int32_t r = 0;

	if (number->has_option)
		r = settings_agree(reader, &source, number->what, &known, number->option);
	for (size_t i = 0; i < sizeof(number->names) / sizeof(number->names[0]) && number->names[i] && r == 0; i++) {
		r = rh_comm_env_number(&reader->variables, number->names[i], number->min, number->max, &value, reader->err);
		if (r > 0)
			r = settings_agree(reader, &source, number->names[i], &known, value);
	}
	if (r == 0 && number->cluster >= 0)
		r = settings_agree(reader, &source, "TF_CONFIG", &known, number->cluster);
	if (r == 0 && reader->found_by && number->found >= 0)
		r = settings_agree(reader, &source, reader->found_by, &known, number->found);
	if (r < 0)
		return r;
	if (!source && number->fallback < number->min)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the %s is missing: set %s", number->what,
		                    number->names[0]);
	if (known < number->min || known > number->max)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the %s is %lld and must be %lld to %lld",
		                    number->what, (long long)known, (long long)number->min, (long long)number->max);
	*ret_value = (int32_t)known;
	return 0;
}

static int32_t settings_time(const struct settings_reader *reader, const char *name, int64_t option, int64_t fallback,
                             int64_t *ret_time)
{
	return rh_comm_env_time(&reader->variables, name, option, fallback, ret_time, reader->err);
}

static int32_t settings_real(const struct settings_reader *reader, const char *name, double option, double fallback,
                             double *ret_value)
{
	const char *text = settings_text(reader, NULL, name);
	double value = option > 0 ? option : fallback;
	char *end = NULL;

	if (option < 0)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "option for %s: %g is negative", name,
		                    option);
	if (option == 0 && text) {
		value = strtod(text, &end);
		if (*end || !(value >= 0))
			return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "%s: \"%s\" must be a number, at least 0",
			                    name, text);
	}
	*ret_value = value;
	return 0;
}

static int32_t settings_choice(const struct settings_reader *reader, const char *name, int32_t option,
                               const struct settings_word *words, int32_t *ret_value)
{
	const char *text = settings_text(reader, NULL, name);
	const struct settings_word *word = words;

	if (option == 0 && !text) {
		*ret_value = words[0].value;
		return 0;
	}
	while (word->word && (option != 0 ? word->value != option : strcmp(word->word, text) != 0))
		word++;
	if (!word->word)
		return option != 0 ? rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                                  "option for %s: %d is not known", name, (int)option)
		                   : rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                                  "%s: \"%s\" is not known; %s is the first of the words that are", name, text,
		                                  words[0].word);
	*ret_value = word->value;
	return 0;
}

static int32_t settings_slow(const struct settings_reader *reader, int64_t *ret_time)
{
	const char *log = settings_text(reader, NULL, "RH_COMM_LOG");
	int32_t r = settings_time(reader, "RH_COMM_SLOW", 0, SLOW, ret_time);

	if (r == 0 && log && strcmp(log, "off") == 0)
		*ret_time = RH_COMM_NEVER;
	return r;
}

/* What is chosen for the collectives of a job holds for its parameter servers, too. */
const char *rh_ps_backend_read(const struct rh_comm_variables *variables, const char *option)
{
	const char *text = option && option[0] ? option : rh_comm_env_text(variables, "RH_PS_BACKEND");

	if (!text)
		text = rh_comm_env_text(variables, "RH_COMM_BACKEND");
	return !text || strcmp(text, "auto") == 0 ? RH_PS_BACKEND_OWN : text;
}

static int32_t settings_bytes(const struct settings_reader *reader, const char *name, int64_t option, int64_t fallback,
                              int64_t *ret_bytes)
{
	int64_t bytes = option;
	int32_t r = option == 0 ? rh_comm_env_number(&reader->variables, name, 1, INT64_MAX, &bytes, reader->err) : 1;

	*ret_bytes = r > 0 ? bytes : fallback;
	return r < 0 ? r : 0;
}

static struct settings_reader settings_begin(const struct rh_ps_sources *sources, struct rh_comm_error *err)
{
	struct settings_reader reader = {.variables = sources->variables, .found_by = sources->found_by, .err = err};

	if (sources->found)
		reader.found = *sources->found;
	return reader;
}

static int32_t settings_open(const struct settings_reader *blank, struct settings_reader *ret_reader)
{
	*ret_reader = *blank;
	return rh_ps_cluster_read(settings_text(blank, NULL, "TF_CONFIG"), &ret_reader->cluster, blank->err);
}

static int32_t settings_read_rule(const struct settings_reader *reader, const struct rh_ps_server_options *options,
                                  struct rh_ps_config *config)
{
	int32_t r = settings_choice(reader, "RH_PS_MODE", options->mode, settings_modes, &config->mode);
	struct settings_number staleness = {
		"staleness", options->staleness, options->staleness > 0, {"RH_PS_STALENESS"}, -1, -1, 0, INT32_MAX, 0};

	if (r == 0)
		r = settings_choice(reader, "RH_PS_RULE", options->rule, settings_rules, &config->rule);
	if (r == 0)
		r = settings_number(reader, &staleness, &config->staleness);
	if (r == 0)
		r = settings_real(reader, "RH_PS_RATE", options->rate, 0.01, &config->rate);
	if (r == 0)
		r = settings_real(reader, "RH_PS_MOMENTUM", options->momentum, 0.9, &config->momentum);
	if (r == 0)
		r = settings_real(reader, "RH_PS_BETA1", options->beta1, 0.9, &config->beta1);
	if (r == 0)
		r = settings_real(reader, "RH_PS_BETA2", options->beta2, 0.999, &config->beta2);
	if (r == 0)
		r = settings_real(reader, "RH_PS_EPSILON", options->epsilon, 1e-8, &config->epsilon);
	if (r < 0)
		return r;
	if (config->mode != RH_PS_SYNC && (config->rule == RH_PS_TOTAL || config->rule == RH_PS_MEAN))
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "rules total and mean are of rounds, which only mode sync has");
	return 0;
}

/* A scheduler decides who takes over, so it has the number. */
static int32_t settings_read_replicas(const struct settings_reader *reader, struct rh_ps_server_settings *settings)
{
	int32_t found = reader->found_by && reader->found.replicas > 0 ? reader->found.replicas : -1;
	struct settings_number replicas = {"number of replicas", 0, false, {"RH_PS_REPLICAS"}, -1, found, 1,
	                                   RH_PS_REPLICAS_MAX,   1};
	int32_t r = settings_number(reader, &replicas, &settings->replicas);

	if (r < 0 || settings->replicas == 1)
		return r;
	if (found < 0)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "%d replicas need a scheduler: set DMLC_ROLE, DMLC_PS_ROOT_URI and DMLC_PS_ROOT_PORT, and "
		                    "unset TF_CONFIG",
		                    (int)settings->replicas);
	if (settings->folder)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "a server with a backup keeps no folder: unset RH_PS_FOLDER or RH_PS_REPLICAS");
	return 0;
}

static int32_t settings_read_places(const struct settings_reader *reader, const struct rh_ps_server_options *options,
                                    struct rh_ps_server_settings *settings)
{
	const struct rh_ps_cluster *cluster = &reader->cluster;
	bool known = cluster->server_count > 0;
	struct settings_number rows[] = {
		{"number of servers",
	     options->servers,
	     options->servers > 0,
	     {"RH_PS_SERVER_COUNT", "DMLC_NUM_SERVER"},
	     known ? cluster->server_count : -1,
	     reader->found.server_count,
	     1,
	     RH_PS_MAX,
	     1},
		{"number of workers",
	     options->workers,
	     options->workers > 0,
	     {"RH_PS_WORKERS", "DMLC_NUM_WORKER"},
	     known ? cluster->workers : -1,
	     reader->found.workers,
	     1,
	     RH_PS_MAX,
	     0},
		{"index of the server",
	     options->index,
	     options->has_index != 0,
	     {"RH_PS_SERVER", "DMLC_SERVER_ID"},
	     cluster->server,
	     reader->found.server,
	     0,
	     RH_PS_MAX - 1,
	     0},
		{"port", options->port, options->port > 0, {"RH_PS_PORT"}, -1, -1, 0, PORT_MAX, 0},
	};
	int32_t *to[] = {&settings->config.servers, &settings->config.workers, &settings->config.index, &settings->port};
	int32_t r = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && r == 0; i++)
		r = settings_number(reader, &rows[i], to[i]);
	if (r == 0 && settings->config.index >= settings->config.servers)
		r = rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the index of the server is %d, of %d servers",
		                 (int)settings->config.index, (int)settings->config.servers);
	return r;
}

/* TF_CONFIG has the address where the others expect this server. */
static void settings_take_port(const struct settings_reader *reader, struct rh_ps_server_settings *settings)
{
	const struct rh_ps_cluster *cluster = &reader->cluster;

	if (cluster->places && cluster->server >= 0 && cluster->server < cluster->server_count && settings->port == 0)
		settings->port = cluster->places[cluster->server].port;
}

static int32_t settings_read_server(const struct settings_reader *reader, const struct rh_ps_server_options *options,
                                    struct rh_ps_server_settings *settings)
{
	int32_t r = settings_read_places(reader, options, settings);

	if (r == 0)
		r = settings_read_rule(reader, options, &settings->config);
	if (r == 0)
		r = settings_choice(reader, "RH_PS_DURABLE", options->durable, settings_durables, &settings->durable);
	if (r == 0)
		r = settings_time(reader, "RH_PS_GRACE", options->grace, GRACE, &settings->grace);
	if (r == 0)
		r = settings_time(reader, "RH_PS_RETURN_TIMEOUT", 0, RH_COMM_DEFAULT_INIT_TIMEOUT, &settings->return_timeout);
	if (r == 0)
		r = settings_time(reader, "RH_COMM_DEATH_TIMEOUT", options->death_timeout, RH_COMM_DEFAULT_DEATH_TIMEOUT,
		                  &settings->death_timeout);
	if (r == 0)
		r = settings_bytes(reader, "RH_PS_SNAPSHOT", options->snapshot, SNAPSHOT, &settings->snapshot);
	if (r == 0)
		r = settings_slow(reader, &settings->slow);
	settings_take_port(reader, settings);
	return r;
}

int32_t rh_ps_server_settings_read(const struct rh_ps_server_options *options, const struct rh_ps_sources *sources,
                                   struct rh_ps_server_settings *ret_settings, struct rh_comm_error *err)
{
	static const struct rh_ps_server_options none = {.size = sizeof(none)};
	struct rh_ps_server_settings settings = {0};
	struct settings_reader blank = settings_begin(sources, err);
	struct settings_reader reader;
	int32_t r;

	if (!options)
		options = &none;
	if (options->size != sizeof(*options))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "options.size is %u and must be sizeof(struct rh_ps_server_options)", options->size);
	r = settings_open(&blank, &reader);
	if (r < 0)
		return r;
	settings.folder = settings_text(&reader, options->folder, "RH_PS_FOLDER");
	r = settings_read_server(&reader, options, &settings);
	if (r == 0)
		r = settings_read_replicas(&reader, &settings);
	free(reader.cluster.places);
	if (r < 0)
		return r;
	settings.host = settings_text(&reader, options->host, "RH_PS_HOST");
	settings.no_shm = settings_is_off(&reader, "RH_PS_SHM");
	settings.job = settings_text_or_empty(&reader, options->job, "RH_COMM_JOB");
	settings.secret = settings_text_or_empty(&reader, options->secret, "RH_COMM_SECRET");
	settings.backend = rh_ps_backend_read(&reader.variables, options->backend);
	*ret_settings = settings;
	return 0;
}

static int32_t settings_read_times(const struct settings_reader *reader, const struct rh_ps_options *options,
                                   struct rh_ps_settings *settings)
{
	int32_t r = settings_time(reader, "RH_PS_INIT_TIMEOUT", options->init_timeout, RH_COMM_DEFAULT_INIT_TIMEOUT,
	                          &settings->init_timeout);

	if (r == 0)
		r = settings_time(reader, "RH_PS_TIMEOUT", options->op_timeout, RH_COMM_DEFAULT_OP_TIMEOUT,
		                  &settings->op_timeout);
	if (r == 0)
		r = settings_time(reader, "RH_PS_GRACE", options->grace, 0, &settings->grace);
	if (r == 0)
		r = settings_time(reader, "RH_COMM_DEATH_TIMEOUT", options->death_timeout, RH_COMM_DEFAULT_DEATH_TIMEOUT,
		                  &settings->death_timeout);
	if (r == 0)
		r = settings_slow(reader, &settings->slow);
	if (r == 0)
		r = settings_bytes(reader, "RH_PS_PART", options->part, PART_DEFAULT, &settings->part);
	if (r == 0 && (settings->part < PART_MIN || settings->part > RH_PS_PART_MAX || settings->part % RH_PS_ALIGN != 0))
		r = rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                 "parts have %lld bytes and must have %d to %d, a multiple of %d", (long long)settings->part,
		                 PART_MIN, RH_PS_PART_MAX, RH_PS_ALIGN);
	return r;
}

/* The addresses of two sources agree, or the first that differs is named. */
static int32_t settings_agree_places(const struct settings_reader *reader, const char *source,
                                     const struct rh_ps_settings *settings)
{
	const struct rh_ps_cluster *cluster = &reader->cluster;
	char here[RH_PS_PLACE_TEXT];
	char there[RH_PS_PLACE_TEXT];

	for (int32_t i = 0; i < settings->server_count && i < cluster->server_count; i++) {
		if (rh_ps_place_equal(&settings->places[i], &cluster->places[i]))
			continue;
		rh_ps_place_print(&settings->places[i], here);
		rh_ps_place_print(&cluster->places[i], there);
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "%s gives %.200s and TF_CONFIG gives %.200s as server %d: unset one of them", source, here,
		                    there, (int)i);
	}
	if (settings->server_count == cluster->server_count)
		return 0;
	return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
	                    "%s gives %d servers and TF_CONFIG gives %d: unset one of them", source,
	                    (int)settings->server_count, (int)cluster->server_count);
}

/* Take the addresses that another source has found. */
static int32_t settings_copy_places(const struct settings_reader *reader, const struct rh_ps_cluster *cluster,
                                    struct rh_ps_settings *settings)
{
	settings->places = calloc((size_t)cluster->server_count, sizeof(*settings->places));
	if (!settings->places)
		return rh_comm_fail(reader->err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	memcpy(settings->places, cluster->places, (size_t)cluster->server_count * sizeof(*settings->places));
	settings->server_count = cluster->server_count;
	return 0;
}

static int32_t settings_read_servers(const struct settings_reader *reader, const struct rh_ps_options *options,
                                     struct rh_ps_settings *settings)
{
	const char *known = settings_text(reader, options->servers, "RH_PS_SERVERS");
	const struct rh_ps_cluster *cluster = reader->cluster.places ? &reader->cluster : &reader->found;
	int32_t r;

	if (!known && cluster->places)
		return settings_copy_places(reader, cluster, settings);
	if (!known)
		return rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "the addresses of the servers are missing: set RH_PS_SERVERS to host:port,host:port");
	r = rh_ps_places_read(known, &settings->places, &settings->server_count, reader->err);
	if (r < 0 || !reader->cluster.places)
		return r;
	return settings_agree_places(reader, options->servers ? "options.servers" : "RH_PS_SERVERS", settings);
}

static int32_t settings_read_worker(const struct settings_reader *reader, const struct rh_ps_options *options,
                                    struct rh_ps_settings *settings)
{
	const struct rh_ps_cluster *cluster = &reader->cluster;
	struct settings_number workers = {"number of workers",
	                                  options->workers,
	                                  options->workers > 0,
	                                  {"RH_PS_WORKERS", "DMLC_NUM_WORKER"},
	                                  cluster->server_count > 0 ? cluster->workers : -1,
	                                  reader->found.workers,
	                                  1,
	                                  RH_PS_MAX,
	                                  0};
	struct settings_number worker = {"index of the worker",
	                                 options->worker,
	                                 options->has_worker != 0,
	                                 {"RH_PS_WORKER", "DMLC_WORKER_ID"},
	                                 cluster->worker,
	                                 reader->found.worker,
	                                 0,
	                                 RH_PS_MAX - 1,
	                                 -1};
	int32_t r = settings_number(reader, &workers, &settings->workers);

	if (r == 0)
		r = settings_number(reader, &worker, &settings->worker);
	if (r == 0 && settings->worker >= settings->workers)
		r = rh_comm_fail(reader->err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "the index of the worker is %d, of %d workers",
		                 (int)settings->worker, (int)settings->workers);
	if (r == 0)
		r = settings_read_times(reader, options, settings);
	return r < 0 ? r : settings_read_servers(reader, options, settings);
}

int32_t rh_ps_settings_read(const struct rh_ps_options *options, const struct rh_ps_sources *sources,
                            struct rh_ps_settings *ret_settings, struct rh_comm_error *err)
{
	static const struct rh_ps_options none = {.size = sizeof(none)};
	struct rh_ps_settings settings = {0};
	struct settings_reader blank = settings_begin(sources, err);
	struct settings_reader reader;
	int32_t r;

	if (!options)
		options = &none;
	if (options->size != sizeof(*options))
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK,
		                    "options.size is %u and must be sizeof(struct rh_ps_options)", options->size);
	r = settings_open(&blank, &reader);
	if (r < 0)
		return r;
	r = settings_read_worker(&reader, options, &settings);
	free(reader.cluster.places);
	if (r < 0) {
		rh_ps_settings_free(&settings);
		return r;
	}
	settings.job = settings_text_or_empty(&reader, options->job, "RH_COMM_JOB");
	settings.secret = settings_text_or_empty(&reader, options->secret, "RH_COMM_SECRET");
	settings.backend = rh_ps_backend_read(&reader.variables, options->backend);
	settings.no_shm = options->no_shm || settings_is_off(&reader, "RH_PS_SHM");
	*ret_settings = settings;
	return 0;
}
