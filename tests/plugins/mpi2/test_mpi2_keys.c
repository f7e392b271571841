/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of ssh: ssh-keygen reads both halves, and finds the same pair; the same bytes give the same keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../plugins/ssh/ssh_keys.h"
#include "base/crypto/crypto.h"

#define KEYS_PUBLIC "ecdsa-sha2-nistp521 "
#define KEYS_PRIVATE "-----BEGIN EC PRIVATE KEY-----\n"

static struct ssh_keys keys_make(void)
{
	uint8_t pair[RH_PAIR_BYTES];
	struct ssh_keys keys;

	assert_int_equal(rh_crypto_pair(pair, NULL), 0);
	assert_int_equal(ssh_keys_print(pair, sizeof(pair), &keys), 0);
	return keys;
}

/** Run ssh-keygen -y -f @p path. @return what it prints, owned by the caller; NULL: there is no ssh-keygen */
static char *keys_ask_ssh(const char *path)
{
	char *text = calloc(1, 1024);
	int pipe_ends[2];
	int status;
	pid_t child;

	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		(void)dup2(pipe_ends[1], STDOUT_FILENO);
		(void)execlp("ssh-keygen", "ssh-keygen", "-y", "-f", path, (char *)NULL);
		_exit(77);
	}
	close(pipe_ends[1]);
	for (ssize_t got, size = 0; (got = read(pipe_ends[0], text + size, (size_t)(1023 - size))) > 0;)
		size += got;
	close(pipe_ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return text;
	free(text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 77);
	return NULL;
}

static void test_mpi2_keys__have_the_form_of_ssh(void **state)
{
	struct ssh_keys keys = keys_make();

	(void)state;
	assert_int_equal(strncmp(keys.private_key, KEYS_PRIVATE, strlen(KEYS_PRIVATE)), 0);
	assert_non_null(strstr(keys.private_key, "-----END EC PRIVATE KEY-----\n"));
	assert_int_equal(strncmp(keys.public_key, KEYS_PUBLIC, strlen(KEYS_PUBLIC)), 0);
	assert_int_equal(keys.public_key[strlen(keys.public_key) - 1], '\n');
	assert_null(strchr(keys.public_key + strlen(KEYS_PUBLIC), ' '));
	ssh_keys_free(&keys);
	assert_null(keys.private_key);
}

/* ssh-keygen computes the public key of the private one. */
static void test_mpi2_keys__ssh_accepts_the_pair(void **state)
{
	char path[] = "/tmp/roundhouse-key-XXXXXX";
	int file = mkstemp(path);
	char *line;

	(void)state;
	assert_true(file >= 0);
	for (int i = 0; i < 3; i++) {
		struct ssh_keys keys = keys_make();

		assert_int_equal(ftruncate(file, 0), 0);
		assert_int_equal(pwrite(file, keys.private_key, strlen(keys.private_key), 0), strlen(keys.private_key));
		line = keys_ask_ssh(path);
		if (line)
			assert_string_equal(line, keys.public_key);
		else
			print_message("there is no ssh-keygen\n");
		free(line);
		ssh_keys_free(&keys);
	}
	close(file);
	unlink(path);
}

static void test_mpi2_keys__are_what_the_bytes_say(void **state)
{
	uint8_t pair[RH_PAIR_BYTES] = {1};
	struct ssh_keys one, again;

	(void)state;
	assert_int_equal(ssh_keys_print(pair, sizeof(pair), &one), 0);
	assert_int_equal(ssh_keys_print(pair, sizeof(pair), &again), 0);
	assert_string_equal(one.private_key, again.private_key);
	assert_string_equal(one.public_key, again.public_key);
	ssh_keys_free(&one);
	ssh_keys_free(&again);
	assert_int_equal(ssh_keys_print(pair, sizeof(pair) - 1, &one), RH_EINVAL);
	assert_null(one.private_key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpi2_keys__have_the_form_of_ssh),
		cmocka_unit_test(test_mpi2_keys__ssh_accepts_the_pair),
		cmocka_unit_test(test_mpi2_keys__are_what_the_bytes_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
