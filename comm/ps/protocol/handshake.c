/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/handshake.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

void rh_ps_random(void *data, size_t length)
{
	uint8_t *at = data;

	while (length > 0) {
		ssize_t n = getrandom(at, length, 0);

		if (n < 0)
			continue;
		at += n;
		length -= (size_t)n;
	}
}

uint64_t rh_ps_random_number(void)
{
	uint64_t number = 0;

	while (number == 0)
		rh_ps_random(&number, sizeof(number));
	return number;
}

void rh_ps_job_digest(const char *job, uint8_t *ret_digest)
{
	struct rh_comm_sha256 hash;

	rh_comm_sha256_init(&hash);
	rh_comm_sha256_add(&hash, job, strlen(job));
	rh_comm_sha256_end(&hash, ret_digest);
}

bool rh_ps_hello_read(struct rh_ps_hello *ret_hello, const void *payload, size_t length)
{
	memset(ret_hello, 0, sizeof(*ret_hello));
	if (length < sizeof(ret_hello->protocol))
		return false;
	memcpy(ret_hello, payload, length < sizeof(*ret_hello) ? length : sizeof(*ret_hello));
	return ret_hello->protocol != RH_PS_PROTOCOL || length == sizeof(*ret_hello);
}

void rh_ps_prove(const char *secret, const char *who, const uint8_t *nonce, const struct rh_ps_hello *hello,
                 uint8_t *ret_digest)
{
	struct {
		char who[8];
		uint8_t nonce[RH_PS_NONCE];
		struct rh_ps_hello hello;
	} text;

	memset(&text, 0, sizeof(text));
	text.hello = *hello;
	memcpy(text.who, who, strnlen(who, sizeof(text.who)));
	memcpy(text.nonce, nonce, RH_PS_NONCE);
	rh_comm_hmac(secret, strlen(secret), &text, sizeof(text), ret_digest);
}

/* Names that start with a zero byte are not files: nothing is left when a process is killed (unix(7)). */
static socklen_t local_address(const char *name, struct sockaddr_un *ret_address)
{
	size_t length = strnlen(name, RH_PS_LOCAL_NAME);

	memset(ret_address, 0, sizeof(*ret_address));
	ret_address->sun_family = AF_UNIX;
	memcpy(ret_address->sun_path + 1, name, length);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

int rh_ps_local_listen(char *ret_name)
{
	struct sockaddr_un address;
	uint64_t random[2] = {rh_ps_random_number(), rh_ps_random_number()};
	socklen_t length;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int number;

	if (fd < 0)
		return -1;
	(void)snprintf(ret_name, RH_PS_LOCAL_NAME, "rh-ps-%016llx%016llx", (unsigned long long)random[0],
	               (unsigned long long)random[1]);
	length = local_address(ret_name, &address);
	if (bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	number = errno;
	(void)close(fd);
	errno = number;
	return -1;
}

int rh_ps_local_connect(const char *name)
{
	struct sockaddr_un address;
	socklen_t length = local_address(name, &address);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, length) == 0)
		return fd;
	(void)close(fd);
	return -1;
}
