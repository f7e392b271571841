/* SPDX-License-Identifier: Apache-2.0 */
#include "local/preflight/listeners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"
#include "base/str.h"
#include "local/addresses.h"

/* Largest table of sockets that is read, in bytes; a line has 150. */
#define LISTENERS_TABLE_MAX ((size_t)16 * 1024 * 1024)
/* The state of a socket that listens, in the tables. */
#define LISTENERS_LISTEN 0x0a
/* Longest command that is named, in bytes. */
#define LISTENERS_COMMAND_MAX 80
/* The same, with the "..." of a longer one. */
#define LISTENERS_TEXT_MAX (LISTENERS_COMMAND_MAX + 3)

/* Bytes of one answer; the kernel fills at most this much for a reader with that much room. */
#define LISTENERS_ANSWER_SIZE 16384

/* A question to the kernel about the sockets that listen on a port. */
struct listeners_question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* Who listens, as far as it is known. */
struct listeners_search {
	int32_t port;
	bool everywhere;     /* whatever its address is */
	unsigned long inode; /* of a socket; 0: none yet */
	bool over;           /* the last answer was read */
};

/* Take the sockets of one read of answers. @return false: the kernel refused the question */
static bool listeners_take(struct listeners_search *search, void *answers, size_t length)
{
	static const uint32_t any[4];
	int left = (int)length;

	for (struct nlmsghdr *at = answers; NLMSG_OK(at, left); at = NLMSG_NEXT(at, left)) {
		const struct inet_diag_msg *socket_ = NLMSG_DATA(at);

		if (at->nlmsg_type == NLMSG_ERROR)
			return false;
		search->over |= at->nlmsg_type == NLMSG_DONE;
		if (at->nlmsg_type != SOCK_DIAG_BY_FAMILY || at->nlmsg_len < NLMSG_LENGTH(sizeof(*socket_)))
			continue;
		if (socket_->idiag_state == LISTENERS_LISTEN && ntohs(socket_->id.idiag_sport) == search->port &&
		    (search->everywhere || memcmp(socket_->id.idiag_src, any, sizeof(any)) == 0))
			search->inode = socket_->idiag_inode;
	}
	return true;
}

/* @return false: the kernel does not answer such questions */
static bool listeners_ask_family(int fd, uint8_t family, struct listeners_search *search)
{
	struct listeners_question question = {
		.head = {.nlmsg_len = sizeof(question),
	             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
	             .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1U << LISTENERS_LISTEN}};
	_Alignas(struct nlmsghdr) char answers[LISTENERS_ANSWER_SIZE];

	question.body.id.idiag_sport = htons((uint16_t)search->port);
	if (send(fd, &question, sizeof(question), 0) < 0)
		return false;
	for (search->over = false; !search->over;) {
		ssize_t n = recv(fd, answers, sizeof(answers), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !listeners_take(search, answers, (size_t)n))
			return false;
	}
	return true;
}

bool rh_listeners_ask(int32_t port, bool everywhere, unsigned long *ret_inode)
{
	struct listeners_search search = {.port = port, .everywhere = everywhere};
	rh_auto_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0 || !listeners_ask_family(fd, AF_INET, &search) || !listeners_ask_family(fd, AF_INET6, &search))
		return false;
	*ret_inode = search.inode;
	return true;
}

/* One line: "  0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 1234 ...".
 * @return the socket's inode; 0: it is not the one */
static unsigned long listeners_read_line(const char *line, int32_t port, bool everywhere)
{
	char address[33] = "";
	unsigned number = 0;
	unsigned state = 0;
	unsigned long inode = 0;

	if (sscanf(line, " %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %*d %*d %lu", address, &number, &state,
	           &inode) != 4 ||
	    state != LISTENERS_LISTEN || (int32_t)number != port)
		return 0;
	return everywhere || strspn(address, "0") == strlen(address) ? inode : 0;
}

static unsigned long listeners_find(const char *table, int32_t port, bool everywhere)
{
	rh_auto_free char *text = NULL;
	unsigned long inode = 0;

	if (rh_file_read(table, LISTENERS_TABLE_MAX, &text, NULL, NULL) < 0)
		return 0;
	for (const char *line = text; line && *line && inode == 0;) {
		const char *end = strchr(line, '\n');

		inode = listeners_read_line(line, port, everywhere);
		line = end ? end + 1 : NULL;
	}
	return inode;
}

static bool listeners_has(const char *process, const char *socket_)
{
	rh_auto_free char *path = rh_asprintf("/proc/%s/fd", process);
	DIR *folder = path ? opendir(path) : NULL;
	const struct dirent *entry;
	bool found = false;

	while (!found && folder && (entry = readdir(folder))) {
		char target[64];
		ssize_t n = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		found = strcmp(target, socket_) == 0;
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

static void listeners_describe(const char *process, char who[RH_PREFLIGHT_WHO_SIZE])
{
	rh_auto_free char *path = rh_asprintf("/proc/%s/cmdline", process);
	rh_auto_free char *words = NULL;
	rh_auto_str command = {0};
	size_t length = 0;

	if (path && rh_file_read(path, RH_PREFLIGHT_WHO_SIZE * 16, &words, &length, NULL) == 0) {
		while (length > 0 && words[length - 1] == '\0')
			length--;
		rh_str_append_line(&command, words, length, LISTENERS_COMMAND_MAX);
	}
	(void)snprintf(who, RH_PREFLIGHT_WHO_SIZE, "process %.20s (%.*s)", process, LISTENERS_TEXT_MAX,
	               rh_str_text(&command));
}

/* Whose the socket is: only root sees the sockets of others. */
static void listeners_name(unsigned long inode, char who[RH_PREFLIGHT_WHO_SIZE])
{
	rh_auto_free char *socket_ = rh_asprintf("socket:[%lu]", inode);
	DIR *folder = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	(void)snprintf(who, RH_PREFLIGHT_WHO_SIZE, "a process of another user");
	while (!found && socket_ && folder && (entry = readdir(folder))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		found = listeners_has(entry->d_name, socket_);
		if (found)
			listeners_describe(entry->d_name, who);
	}
	if (folder)
		(void)closedir(folder);
}

unsigned long rh_listeners_read(int32_t port, bool everywhere)
{
	unsigned long inode = listeners_find("/proc/net/tcp", port, everywhere);

	return inode ? inode : listeners_find("/proc/net/tcp6", port, everywhere);
}

bool rh_preflight_listener(void *arg, int32_t port, bool everywhere, char who[RH_PREFLIGHT_WHO_SIZE])
{
	unsigned long inode;

	(void)arg;
	/* binding a port to see whether it is free costs a tenth of listing all listeners */
	if (rh_address_is_free(port))
		return false;
	if (!rh_listeners_ask(port, everywhere, &inode))
		inode = rh_listeners_read(port, everywhere);
	if (inode != 0)
		listeners_name(inode, who);
	return inode != 0;
}
