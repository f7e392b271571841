/* SPDX-License-Identifier: Apache-2.0 */
/* Search and merge of kubeconfig files, and choice of the context. */
#include "kube/kubeconfig/kubeconfig.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/file.h"
#include "base/str.h"
#include "base/yaml.h"
#include "kube/kubeconfig/parts.h"

#define KUBECONFIG_SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* One file that was read. */
struct kubeconfig_source {
	char *name;
	struct rh_json *documents;
	const struct rh_json *root; /* borrowed from documents */
};

/* The merged files: the first file that sets a value wins. */
struct kubeconfig_load {
	struct kubeconfig_source *sources;
	size_t count;
	const char *context; /* chosen by the caller; NULL: current-context of the files */
	struct rh_error *err;
};

static void kubeconfig_load_deinit(struct kubeconfig_load *load)
{
	for (size_t i = 0; i < load->count; i++) {
		rh_free(load->sources[i].name);
		rh_json_free(load->sources[i].documents);
	}
	rh_free(load->sources);
}

#define auto_kubeconfig_load __attribute__((cleanup(kubeconfig_load_deinit))) struct kubeconfig_load

void rh_kubeconfig_free(struct rh_kubeconfig *config)
{
	if (!config)
		return;
	char *const plain[] = {config->cluster_at,      config->user_at,   config->server,     config->ca,
	                       config->ca_file,         config->proxy_url, config->namespace_, config->certificate,
	                       config->tls_server_name, config->key_file,  config->token_file, config->certificate_file,
	                       config->username,        config->context,   config->user};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		rh_free(plain[i]);
	rh_free_secret(config->key);
	rh_free_secret(config->token);
	rh_free_secret(config->password);
	rh_json_free(config->exec);
	rh_json_free(config->exec_config);
	rh_json_free(config->headers);
	rh_free(config);
}

static int kubeconfig_check_list(const struct kubeconfig_source *source, const char *list, struct rh_error *err)
{
	const struct rh_json *items = rh_json_get(source->root, list);
	size_t i = 0;

	if (!items || rh_json_type(items) == RH_JSON_NULL)
		return 0;
	if (rh_json_type(items) != RH_JSON_ARRAY)
		return rh_fail(err, RH_EINVAL, "%s: %s: %s must be a list of mappings with a name", source->name, list,
		               rh_json_type_name(items));
	for (const struct rh_json *item = rh_json_first(items); item; item = rh_json_next(item), i++) {
		if (rh_json_type(item) != RH_JSON_OBJECT)
			return rh_fail(err, RH_EINVAL, "%s: %s[%zu]: %s must be a mapping", source->name, list, i,
			               rh_json_type_name(item));
		if (!rh_json_string(rh_json_get(item, "name")))
			return rh_fail(err, RH_EINVAL, "%s: %s[%zu].name: must be a string; name the entry", source->name, list, i);
	}
	return 0;
}

static int kubeconfig_check_root(struct kubeconfig_source *source, struct rh_error *err)
{
	static const char *const lists[] = {"clusters", "users", "contexts"};
	const struct rh_json *kind;
	int r = 0;

	if (rh_json_size(source->documents) > 1)
		return rh_fail(err, RH_EINVAL, "%s: has more than one document; a kubeconfig is one", source->name);
	source->root = rh_json_first(source->documents);
	if (source->root && rh_json_type(source->root) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "%s: is %s, not a kubeconfig; write a mapping with clusters, users and contexts",
		               source->name, rh_json_type_name(source->root));
	kind = rh_json_get(source->root, "kind");
	if (kind && !rh_text_equal(rh_json_string(kind), "Config"))
		return rh_fail(err, RH_EINVAL, "%s: kind: must be Config in a kubeconfig", source->name);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && r == 0; i++)
		r = kubeconfig_check_list(source, lists[i], err);
	return r;
}

static int kubeconfig_add(struct kubeconfig_load *load, const char *name, const char *text, size_t length)
{
	struct kubeconfig_source *sources = rh_realloc_array(load->sources, load->count + 1, sizeof(*sources));
	struct kubeconfig_source *source;
	int r;

	if (!sources)
		return rh_fail_oom(load->err);
	load->sources = sources;
	source = &sources[load->count];
	*source = (struct kubeconfig_source){.name = rh_strdup(name)};
	if (!source->name)
		return rh_fail_oom(load->err);
	load->count++;
	r = rh_yaml_parse_secret(text, length, &source->documents, load->err);
	return r < 0 ? rh_wrap(load->err, r, "%s", name) : kubeconfig_check_root(source, load->err);
}

static int kubeconfig_add_file(struct kubeconfig_load *load, const char *path)
{
	rh_auto_free char *text = NULL;
	size_t length = 0;
	int r = rh_file_read(path, RH_YAML_TEXT_MAX, &text, &length, load->err);

	if (r < 0)
		return rh_wrap(load->err, r, "kubeconfig");
	r = kubeconfig_add(load, path, text, length);
	explicit_bzero(text, length);
	return r;
}

/* The mapping `part` of the entry `name` of `list`. @return 0, 1 when there is none, or negative */
static int kubeconfig_find(const struct kubeconfig_load *load, const char *list, const char *name,
                           struct rh_kubeconfig_entry *entry)
{
	/* "clusters" has entries "cluster" */
	rh_auto_free char *part = rh_strndup(list, strlen(list) - 1);
	size_t i = 0;

	if (!part)
		return rh_fail_oom(load->err);
	for (size_t s = 0; s < load->count; s++, i = 0) {
		const struct kubeconfig_source *source = &load->sources[s];
		const struct rh_json *item = rh_json_first(rh_json_get(source->root, list));

		for (; item && strcmp(rh_json_string(rh_json_get(item, "name")), name) != 0; item = rh_json_next(item))
			i++;
		if (!item)
			continue;
		entry->file = source->name;
		entry->dir = rh_path_folder(source->name);
		entry->at = rh_asprintf("%s: %s[%zu].%s", source->name, list, i, part);
		entry->value = rh_json_get(item, part);
		if (!entry->dir || !entry->at)
			return rh_fail_oom(load->err);
		if (entry->value && rh_json_type(entry->value) != RH_JSON_OBJECT && rh_json_type(entry->value) != RH_JSON_NULL)
			return rh_fail(load->err, RH_EINVAL, "%s: %s must be a mapping", entry->at,
			               rh_json_type_name(entry->value));
		return 0;
	}
	return 1;
}

/* The names in `list` of all files, for a message. */
static void kubeconfig_names(const struct kubeconfig_load *load, const char *list, struct rh_str *out)
{
	for (size_t s = 0; s < load->count; s++) {
		const struct rh_json *item = rh_json_first(rh_json_get(load->sources[s].root, list));

		for (; item; item = rh_json_next(item))
			rh_str_appendf(out, "%s\"%s\"", out->length ? ", " : "", rh_json_string(rh_json_get(item, "name")));
	}
}

/* An entry that must exist because `from`, for the message, refers to it. */
static int kubeconfig_need(const struct kubeconfig_load *load, const char *list, const char *name, const char *from,
                           struct rh_kubeconfig_entry *entry)
{
	rh_auto_str names = {0};
	int r = kubeconfig_find(load, list, name, entry);

	if (r <= 0)
		return r;
	kubeconfig_names(load, list, &names);
	return rh_fail(load->err, RH_EINVAL, "%s: \"%s\" is not among the %s; %s%s", from, name, list,
	               names.length ? "there are " : "there are none", rh_str_text(&names));
}

/* The name of the context, and where it is set. */
static int kubeconfig_choose(const struct kubeconfig_load *load, const char **ret_name, char **ret_from)
{
	const char *first = load->count > 0 ? load->sources[0].name : "kubeconfig";
	rh_auto_str names = {0};

	*ret_name = load->context;
	*ret_from = rh_asprintf("%s: --context", first);
	for (size_t s = 0; s < load->count && !*ret_name; s++) {
		const struct rh_json *value = rh_json_get(load->sources[s].root, "current-context");
		const char *text = rh_json_string(value);

		if (value && !text && rh_json_type(value) != RH_JSON_NULL)
			return rh_fail(load->err, RH_EINVAL, "%s: current-context: %s must be a string; put it in quotes",
			               load->sources[s].name, rh_json_type_name(value));
		if (!text || !*text)
			continue;
		*ret_name = text;
		rh_free(*ret_from);
		*ret_from = rh_asprintf("%s: current-context", load->sources[s].name);
	}
	if (!*ret_from)
		return rh_fail_oom(load->err);
	if (*ret_name)
		return 0;
	kubeconfig_names(load, "contexts", &names);
	return rh_fail(load->err, RH_EINVAL, "%s: current-context: is not set; set it or name one with --context; %s%s",
	               first, names.length ? "there are " : "there are none", rh_str_text(&names));
}

/* The entry that the context names in `field`. */
static int kubeconfig_follow(const struct kubeconfig_load *load, const struct rh_kubeconfig_entry *context,
                             const char *field, struct rh_kubeconfig_entry *entry)
{
	rh_auto_free char *list = rh_asprintf("%ss", field);
	rh_auto_free char *from = rh_asprintf("%s.%s", context->at, field);
	const char *name;
	int r;

	if (!list || !from)
		return rh_fail_oom(load->err);
	r = rh_kubeconfig_text(context, field, &name, load->err);
	if (r < 0)
		return r;
	if (!name && strcmp(field, "user") == 0)
		return 1; /* a server without authentication */
	if (!name)
		return rh_fail(load->err, RH_EINVAL, "%s: is not set; name one of the %s", from, list);
	return kubeconfig_need(load, list, name, from, entry);
}

static int kubeconfig_keep_text(const struct rh_kubeconfig_entry *entry, const char *field, char **ret_text,
                                struct rh_error *err)
{
	const char *text;
	int r = rh_kubeconfig_text(entry, field, &text, err);

	if (r < 0 || !text)
		return r;
	*ret_text = rh_strdup(text);
	return *ret_text ? 0 : rh_fail_oom(err);
}

static int kubeconfig_read_context(const struct kubeconfig_load *load, const struct rh_kubeconfig_entry *context,
                                   struct rh_kubeconfig *config)
{
	rh_auto_kubeconfig_entry cluster = {0};
	rh_auto_kubeconfig_entry user = {0};
	int r = kubeconfig_keep_text(context, "namespace", &config->namespace_, load->err);

	if (r == 0)
		r = kubeconfig_follow(load, context, "cluster", &cluster);
	if (r == 0)
		r = rh_kubeconfig_read_cluster(&cluster, config, load->err);
	if (r < 0)
		return r;
	r = kubeconfig_follow(load, context, "user", &user);
	if (r == 0)
		r = kubeconfig_keep_text(context, "user", &config->user, load->err);
	if (r == 0)
		return rh_kubeconfig_read_user(&user, config, load->err);
	if (r < 0)
		return r;
	config->user_at = rh_asprintf("%s.user", context->at);
	return config->user_at ? 0 : rh_fail_oom(load->err);
}

/* Choose the context and read its fields, but not the files that they name. */
static int kubeconfig_resolve(const struct kubeconfig_load *load, struct rh_kubeconfig **ret_config)
{
	rh_auto(kubeconfig) config = rh_alloc(sizeof(*config));
	rh_auto_kubeconfig_entry context = {0};
	rh_auto_free char *from = NULL;
	const char *name;
	int r;

	if (!config)
		return rh_fail_oom(load->err);
	r = kubeconfig_choose(load, &name, &from);
	if (r == 0)
		r = kubeconfig_need(load, "contexts", name, from, &context);
	if (r == 0) {
		config->context = rh_strdup(name);
		r = config->context ? kubeconfig_read_context(load, &context, config) : rh_fail_oom(load->err);
	}
	if (r == 0)
		*ret_config = rh_take(config);
	return r;
}

int rh_kubeconfig_parse(const char *name, const char *text, size_t length, const char *context,
                        struct rh_kubeconfig **ret_config, struct rh_error *err)
{
	auto_kubeconfig_load load = {.context = context && *context ? context : NULL, .err = err};
	int r = kubeconfig_add(&load, name, text, length);

	return r < 0 ? r : kubeconfig_resolve(&load, ret_config);
}

/* Read the file that `field` names into *ret_text and check it. */
static int kubeconfig_read_pem(const char *at, const char *field, const char *path, const char *what, char **ret_text,
                               struct rh_error *err)
{
	rh_auto_free char *where = rh_asprintf("%s.%s: \"%s\"", at, field, path);
	char *text = NULL;
	int r;

	if (!where)
		return rh_fail_oom(err);
	r = rh_file_read(path, RH_KUBECONFIG_FILE_MAX, &text, NULL, err);
	if (r < 0)
		return rh_wrap(err, r, "%s.%s", at, field);
	r = rh_kubeconfig_check_pem(where, text, what, err);
	if (r < 0)
		rh_free_secret(text);
	else
		*ret_text = text;
	return r;
}

static int kubeconfig_read_files(struct rh_kubeconfig *config, struct rh_error *err)
{
	int r = 0;

	if (config->ca_file)
		r = kubeconfig_read_pem(config->cluster_at, "certificate-authority", config->ca_file, "CERTIFICATE",
		                        &config->ca, err);
	if (r == 0 && config->certificate_file)
		r = kubeconfig_read_pem(config->user_at, "client-certificate", config->certificate_file, "CERTIFICATE",
		                        &config->certificate, err);
	if (r == 0 && config->key_file)
		r = kubeconfig_read_pem(config->user_at, "client-key", config->key_file, "PRIVATE KEY", &config->key, err);
	return r;
}

/* Missing files of $KUBECONFIG are skipped, unless all are missing. */
static int kubeconfig_add_list(struct kubeconfig_load *load, const char *list)
{
	const char *at = list;

	while (*at) {
		size_t length = strcspn(at, ":");
		rh_auto_free char *path = rh_strndup(at, length);
		int r;

		if (!path)
			return rh_fail_oom(load->err);
		at += length + (at[length] == ':' ? 1 : 0);
		if (!*path)
			continue;
		r = kubeconfig_add_file(load, path);
		if (r < 0 && r != RH_ENOENT)
			return r;
	}
	if (load->count == 0)
		return rh_fail(load->err, RH_ENOENT, "kubeconfig: none of the files in $KUBECONFIG exists: \"%s\"", list);
	return 0;
}

/* Read the file `name` of a pod's service account, without trailing white space. */
static int kubeconfig_account_file(const char *dir, const char *name, char **ret_text, struct rh_error *err)
{
	rh_auto_free char *path = rh_path_join(dir, name);
	char *text = NULL;
	int r;

	if (!path)
		return rh_fail_oom(err);
	r = rh_file_read(path, RH_KUBECONFIG_FILE_MAX, &text, NULL, err);
	if (r < 0)
		return rh_wrap(err, r, "service account of this pod (does its spec say automountServiceAccountToken: false?)");
	for (size_t length = strlen(text); length > 0 && strchr(" \t\r\n", text[length - 1]); length--)
		text[length - 1] = '\0';
	*ret_text = text;
	return 0;
}

static int kubeconfig_account_server(struct rh_kubeconfig *config, const char *host, struct rh_error *err)
{
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	bool v6 = strchr(host, ':') != NULL;

	if (!port || !*port || strspn(port, "0123456789") != strlen(port) || strlen(port) > 5)
		return rh_fail(err, RH_EINVAL,
		               "$KUBERNETES_SERVICE_PORT: \"%s\" must be a port, because "
		               "$KUBERNETES_SERVICE_HOST is set",
		               port ? port : "");
	config->server = rh_asprintf("https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
	config->cluster_at = rh_strdup("$KUBERNETES_SERVICE_HOST");
	config->user_at = rh_strdup("service account of this pod");
	return config->server && config->cluster_at && config->user_at ? 0 : rh_fail_oom(err);
}

static int kubeconfig_load_account(const char *host, const char *dir, struct rh_kubeconfig **ret_config,
                                   struct rh_error *err)
{
	rh_auto(kubeconfig) config = rh_alloc(sizeof(*config));
	rh_auto_free char *ca_at = rh_path_join(dir, "ca.crt");
	int r;

	if (!config || !ca_at)
		return rh_fail_oom(err);
	r = kubeconfig_account_server(config, host, err);
	if (r == 0)
		r = kubeconfig_account_file(dir, "token", &config->token, err);
	if (r == 0)
		r = kubeconfig_account_file(dir, "ca.crt", &config->ca, err);
	if (r == 0)
		r = rh_kubeconfig_check_pem(ca_at, config->ca, "CERTIFICATE", err);
	if (r == 0)
		r = kubeconfig_account_file(dir, "namespace", &config->namespace_, err);
	if (r < 0)
		return r;
	config->token_file = rh_path_join(dir, "token");
	config->ca_file = rh_take(ca_at);
	if (!config->token_file)
		return rh_fail_oom(err);
	*ret_config = rh_take(config);
	return 0;
}

/* The last place of the search: the file in the user's home, if it exists. */
static int kubeconfig_add_home(struct kubeconfig_load *load)
{
	const char *home = getenv("HOME");
	rh_auto_free char *path = rh_asprintf("%s/.kube/config", home && *home ? home : "");
	int r;

	if (!path)
		return rh_fail_oom(load->err);
	r = home && *home ? kubeconfig_add_file(load, path) : RH_ENOENT;
	if (r != RH_ENOENT)
		return r;
	return rh_fail(
		load->err, RH_ENOENT,
		"no API server is known: --kubeconfig and $KUBECONFIG are not set, this is not a "
		"pod ($KUBERNETES_SERVICE_HOST is not set), and \"%s\" does not exist; name a file with --kubeconfig",
		path);
}

int rh_kubeconfig_load(const struct rh_kubeconfig_options *options, struct rh_kubeconfig **ret_config,
                       struct rh_error *err)
{
	auto_kubeconfig_load load = {.err = err};
	rh_auto(kubeconfig) config = NULL;
	const char *list = getenv("KUBECONFIG");
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *dir = options->service_account_dir;
	int r;

	load.context = options->context && *options->context ? options->context : NULL;
	if (options->path && *options->path)
		r = kubeconfig_add_file(&load, options->path);
	else if (list && *list)
		r = kubeconfig_add_list(&load, list);
	else if (host && *host)
		return kubeconfig_load_account(host, dir ? dir : KUBECONFIG_SERVICE_ACCOUNT, ret_config, err);
	else
		r = kubeconfig_add_home(&load);
	if (r == 0)
		r = kubeconfig_resolve(&load, &config);
	if (r == 0)
		r = kubeconfig_read_files(config, err);
	if (r == 0)
		*ret_config = rh_take(config);
	return r;
}
