/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/auth.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/base64.h"
#include "base/log.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/str.h"
#include "kube/auth/exec.h"
#include "kube/auth/program.h"

/* How long a file's content is used before it is read again (client-go transport/token_source.go). */
#define AUTH_FILE_AGE (60 * RH_SECOND)
/* Shortest time between two credentials when the server rejects fresh ones. */
#define AUTH_PAUSE RH_SECOND
/* Timeout of an exec plugin, which may contact a remote service. */
#define AUTH_PROGRAM_TIMEOUT (60 * RH_SECOND)

struct rh_auth {
	struct rh_loop *loop;
	const struct rh_kubeconfig *config;
	char *authorization;
	char *certificate;
	char *key;
	char *authority;
	uint64_t generation;
	bool known;      /* there is a credential, valid or not */
	bool warned;     /* the mode of the token file was reported */
	int64_t made;    /* monotonic, when it was obtained */
	int64_t expires; /* wall clock */
	int64_t failed;  /* monotonic, when the plugin failed last; 0: never */
	struct rh_error failure;
	struct rh_auth_program *program; /* NULL: none runs */
};

/* Replace a string; an equal one does not count as a change. */
static void auth_replace(struct rh_auth *auth, char **place, char *text)
{
	if (rh_text_equal(*place, text)) {
		rh_free_secret(text);
		return;
	}
	rh_free_secret(*place);
	*place = text;
	auth->generation++;
}

static int auth_set_token(struct rh_auth *auth, const char *token, struct rh_error *err)
{
	char *header = rh_asprintf("Authorization: Bearer %s", token);

	if (!header)
		return rh_fail_oom(err);
	auth_replace(auth, &auth->authorization, header);
	return 0;
}

static int auth_set_basic(struct rh_auth *auth, struct rh_error *err)
{
	const struct rh_kubeconfig *config = auth->config;
	char *plain = rh_asprintf("%s:%s", config->username, config->password ? config->password : "");
	struct rh_str header = {0};

	if (!plain)
		return rh_fail_oom(err);
	rh_str_append(&header, "Authorization: Basic ");
	rh_base64_encode(plain, strlen(plain), &header);
	rh_free_secret(plain);
	auth->authorization = rh_str_take(&header);
	return auth->authorization ? 0 : rh_fail_oom(err);
}

/* Trim `text` to the token. */
static int auth_trim_token(const struct rh_kubeconfig *config, char *text, const char **ret_token, struct rh_error *err)
{
	char *token = text + strspn(text, " \t\r\n");
	char *end = token + strlen(token);

	while (end > token && strchr(" \t\r\n", end[-1]))
		*--end = '\0';
	if (!*token)
		return rh_fail(err, RH_EINVAL, "%s: token file \"%s\" is empty", config->user_at, config->token_file);
	for (const char *at = token; *at; at++) {
		if ((unsigned char)*at <= 0x20 || *at == 0x7f)
			return rh_fail(err, RH_EINVAL, "%s: token file \"%s\" must hold one token, and nothing else",
			               config->user_at, config->token_file);
	}
	*ret_token = token;
	return 0;
}

/* A user who can write the file can make the controller act as another identity. */
static void auth_check_mode(struct rh_auth *auth)
{
	struct stat status;

	if (auth->warned || stat(auth->config->token_file, &status) < 0 || !(status.st_mode & (S_IWGRP | S_IWOTH)))
		return;
	auth->warned = true;
	rh_log(RH_LOG_WARN, NULL, "%s: token file \"%s\" can be written by %s: remove that right (chmod go-w)",
	       auth->config->user_at, auth->config->token_file, status.st_mode & S_IWOTH ? "everybody" : "its group");
}

static int auth_read_token(struct rh_auth *auth, struct rh_error *err)
{
	const char *token;
	char *text = NULL;
	int r = rh_file_read(auth->config->token_file, RH_KUBECONFIG_FILE_MAX, &text, NULL, err);

	if (r < 0)
		return rh_wrap(err, r, "%s: token file", auth->config->user_at);
	auth_check_mode(auth);
	r = auth_trim_token(auth->config, text, &token, err);
	if (r == 0)
		r = auth_set_token(auth, token, err);
	rh_free_secret(text);
	return r;
}

static int auth_read_pem(struct rh_auth *auth, const char *at, const char *path, const char *what, char **place,
                         struct rh_error *err)
{
	char *text = NULL;
	int r = rh_file_read(path, RH_KUBECONFIG_FILE_MAX, &text, NULL, err);

	if (r < 0)
		return rh_wrap(err, r, "%s", at);
	r = rh_kubeconfig_check_pem(path, text, what, err);
	if (r < 0)
		rh_free_secret(text);
	else
		auth_replace(auth, place, text);
	return r;
}

static bool auth_has_files(const struct rh_auth *auth)
{
	const struct rh_kubeconfig *config = auth->config;

	return config->token_file || config->certificate_file || config->key_file || config->ca_file;
}

/* Read all files. The previous content stays when one cannot be read: it may be in the middle of a replacement. */
static int auth_read_files(struct rh_auth *auth, int64_t now, struct rh_error *err)
{
	const struct rh_kubeconfig *config = auth->config;
	int r = 0;

	auth->made = now;
	if (config->ca_file)
		r = auth_read_pem(auth, config->cluster_at, config->ca_file, "CERTIFICATE", &auth->authority, err);
	if (r == 0 && config->token_file)
		r = auth_read_token(auth, err);
	if (r == 0 && config->certificate_file)
		r = auth_read_pem(auth, config->user_at, config->certificate_file, "CERTIFICATE", &auth->certificate, err);
	if (r == 0 && config->key_file)
		r = auth_read_pem(auth, config->user_at, config->key_file, "PRIVATE KEY", &auth->key, err);
	return r;
}

/* Credentials that do not change. */
static int auth_set_fixed(struct rh_auth *auth, struct rh_error *err)
{
	const struct rh_kubeconfig *config = auth->config;

	if (config->certificate && !config->certificate_file)
		auth->certificate = rh_strdup(config->certificate);
	if (config->key && !config->key_file)
		auth->key = rh_strdup(config->key);
	if (config->ca) /* also of a file: it was valid when it was read, and may be in the middle of a replacement */
		auth->authority = rh_strdup(config->ca);
	if ((config->ca && !auth->authority) || (config->certificate && !config->certificate_file && !auth->certificate) ||
	    (config->key && !config->key_file && !auth->key))
		return rh_fail_oom(err);
	if (config->username)
		return auth_set_basic(auth, err);
	if (config->token)
		return auth_set_token(auth, config->token, err);
	return 0;
}

int rh_auth_new(struct rh_loop *loop, const struct rh_kubeconfig *config, struct rh_auth **ret_auth,
                struct rh_error *err)
{
	rh_auto(auth) auth = rh_alloc(sizeof(*auth));
	int r;

	if (!auth)
		return rh_fail_oom(err);
	auth->loop = loop;
	auth->config = config;
	auth->generation = 1;
	auth->expires = RH_NEVER;
	r = auth_set_fixed(auth, err);
	if (r == 0 && auth_has_files(auth))
		r = auth_read_files(auth, rh_clock_monotonic(), err);
	if (r < 0 && !(config->token && config->token_file && auth->authorization && r != RH_ENOMEM))
		return r;
	auth->known = !config->exec;
	*ret_auth = rh_take(auth);
	return 0;
}

void rh_auth_free(struct rh_auth *auth)
{
	if (!auth)
		return;
	rh_auth_program_free(auth->program);
	rh_free_secret(auth->authorization);
	rh_free_secret(auth->certificate);
	rh_free_secret(auth->key);
	rh_free_secret(auth->authority);
	rh_free(auth);
}

/* Start the plugin. @return RH_AUTH_WAIT or negative */
static int auth_start(struct rh_auth *auth, struct rh_error *err)
{
	struct rh_auth_program_options options = {.loop = auth->loop, .timeout = AUTH_PROGRAM_TIMEOUT};
	struct rh_auth_command command = {0};
	const char *hint = rh_json_string(rh_json_get(auth->config->exec, "installHint"));
	int r = rh_auth_exec_interactive(auth->config, isatty(STDIN_FILENO), &options.terminal, err);

	if (r < 0)
		return r;
	if (rh_auth_command_init(&command, auth->config, options.terminal, environ) < 0)
		return rh_fail_oom(err);
	options.argv = command.argv;
	options.envp = command.envp;
	r = rh_auth_program_new(&options, &auth->program, err);
	rh_auth_command_deinit(&command);
	if (r == 0)
		return RH_AUTH_WAIT;
	if (r == RH_ENOENT && hint)
		return rh_wrap(err, r, "%s.exec.command: %s", auth->config->user_at, hint);
	return rh_wrap(err, r, "%s.exec.command", auth->config->user_at);
}

static int auth_take_answer(struct rh_auth *auth, struct rh_error *err)
{
	const struct rh_str *output = rh_auth_program_output(auth->program);
	struct rh_auth_answer answer = {.expires = RH_NEVER};
	int r = rh_auth_answer_parse(auth->config, rh_str_text(output), output->length, &answer, err);

	if (r == 0 && answer.token)
		r = auth_set_token(auth, answer.token, err);
	if (r < 0) {
		rh_auth_answer_deinit(&answer);
		return r;
	}
	if (!answer.token)
		auth_replace(auth, &auth->authorization, NULL);
	if (answer.certificate) {
		auth_replace(auth, &auth->certificate, rh_take(answer.certificate));
		auth_replace(auth, &auth->key, rh_take(answer.key));
	}
	auth->expires = answer.expires;
	rh_auth_answer_deinit(&answer);
	return 0;
}

void rh_auth_step(struct rh_auth *auth, int64_t now)
{
	struct rh_error err = {0};
	int r;

	if (!auth->program)
		return;
	r = rh_auth_program_check(auth->program, now, &err);
	if (r == RH_AUTH_PROGRAM_RUNS)
		return;
	if (r == 0)
		r = auth_take_answer(auth, &err);
	else
		r = rh_wrap(&err, r, "%s.exec: the plugin", auth->config->user_at);
	rh_auth_program_free(rh_take(auth->program));
	auth->known = r == 0;
	auth->made = now;
	auth->failed = r < 0 ? now : 0;
	auth->failure = err;
}

int rh_auth_get(struct rh_auth *auth, int64_t now, struct rh_auth_credential *ret_credential, struct rh_error *err)
{
	bool exec = auth->config->exec != NULL;

	if (auth_has_files(auth) && now - auth->made >= AUTH_FILE_AGE)
		(void)auth_read_files(auth, now, NULL); /* the server decides whether the old ones are still valid */
	/* a credential that has already expired is used once: clocks differ, and the server decides */
	if (exec && auth->known && now - auth->made >= AUTH_PAUSE && rh_clock_wall() >= auth->expires)
		auth->known = false;
	if (auth->program)
		return RH_AUTH_WAIT;
	if (!auth->known && auth->failed && now - auth->failed < AUTH_PAUSE)
		return rh_fail(err, auth->failure.code, "%s", auth->failure.message);
	if (!auth->known)
		return auth_start(auth, err);
	ret_credential->authorization = auth->authorization;
	ret_credential->certificate = auth->certificate;
	ret_credential->key = auth->key;
	ret_credential->authority = auth->authority;
	ret_credential->generation = auth->generation;
	return 0;
}

bool rh_auth_refused(struct rh_auth *auth, int64_t now, uint64_t generation)
{
	if (generation != auth->generation || auth->program)
		return true;
	if (now - auth->made < AUTH_PAUSE)
		return false;
	if (auth->config->exec) {
		auth->known = false;
		return true;
	}
	if (auth_has_files(auth))
		(void)auth_read_files(auth, now, NULL);
	return generation != auth->generation;
}

bool rh_auth_distrusted(struct rh_auth *auth, int64_t now, uint64_t generation)
{
	if (generation == auth->generation && auth->config->ca_file && now - auth->made >= AUTH_PAUSE)
		(void)auth_read_files(auth, now, NULL);
	return generation != auth->generation;
}

int64_t rh_auth_deadline(const struct rh_auth *auth)
{
	return auth->program ? rh_auth_program_deadline(auth->program) : RH_NEVER;
}
