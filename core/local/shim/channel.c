/* SPDX-License-Identifier: Apache-2.0 */
#include "local/shim/channel.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"

/* A runner with so much unread data does not read any more: further data is dropped. */
#define LINE_UNSENT_MAX (1024 * 1024)

void rh_shim_channel_deinit(struct rh_shim_channel *line)
{
	if (line->fd >= 0)
		(void)close(line->fd);
	line->fd = -1;
	rh_str_deinit(&line->unsent);
}

void rh_shim_channel_flush(struct rh_shim_channel *line)
{
	struct rh_str *unsent = &line->unsent;
	size_t sent = 0;

	while (line->fd >= 0 && sent < unsent->length) {
		ssize_t n = send(line->fd, unsent->data + sent, unsent->length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	if (line->fd < 0)
		sent = unsent->length;
	if (sent == 0)
		return;
	memmove(unsent->data, unsent->data + sent, unsent->length - sent);
	unsent->length -= sent;
}

static void channel_send(struct rh_shim_channel *line, const struct rh_json *json)
{
	if (line->fd < 0 || !json || line->unsent.length > LINE_UNSENT_MAX)
		return;
	rh_json_print(json, false, &line->unsent);
	rh_str_append(&line->unsent, "\n");
	line->nudged = false;
	rh_shim_channel_flush(line);
}

void rh_shim_channel_report(struct rh_shim_channel *line, const struct rh_shim_report *report)
{
	rh_auto(json) json = rh_shim_report_json(report);

	channel_send(line, json);
}

void rh_shim_channel_note(struct rh_shim_channel *line, const char *text)
{
	rh_auto(json) json = NULL;

	if (text[0] == '\0')
		return;
	json = rh_json_new_object();
	if (json && rh_json_set_string(json, "note", text) == 0)
		channel_send(line, json);
}

/* Bytes that the other end has not taken yet. */
static bool channel_is_read(const struct rh_shim_channel *line)
{
	int unread = 0;

	return ioctl(line->fd, SIOCOUTQ, &unread) < 0 || unread == 0;
}

void rh_shim_channel_nudge(struct rh_shim_channel *line)
{
	if (line->fd < 0 || (line->nudged && (line->unsent.length > 0 || !channel_is_read(line))))
		return;
	rh_str_append(&line->unsent, "\n");
	line->nudged = true;
	rh_shim_channel_flush(line);
}

static void channel_take(struct rh_shim_channel *line, const char *bytes, size_t length, rh_shim_stop_fn *stop,
                         void *arg)
{
	while (length > 0) {
		size_t missing = sizeof(line->input) - line->input_length;
		size_t part = length < missing ? length : missing;
		struct rh_shim_stop command;

		memcpy(line->input + line->input_length, bytes, part);
		line->input_length += part;
		bytes += part;
		length -= part;
		if (line->input_length < sizeof(command))
			return;
		memcpy(&command, line->input, sizeof(command));
		line->input_length = 0;
		if (command.grace >= 0)
			stop(arg, command.grace);
	}
}

bool rh_shim_channel_receive(struct rh_shim_channel *line, rh_shim_stop_fn *stop, void *arg)
{
	char buffer[512];

	while (line->fd >= 0) {
		ssize_t n = recv(line->fd, buffer, sizeof(buffer), MSG_DONTWAIT);

		if (n > 0) {
			channel_take(line, buffer, (size_t)n, stop, arg);
		} else if (n < 0 && errno == EINTR) {
			continue;
		} else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			return true;
		} else {
			(void)close(line->fd);
			line->fd = -1;
		}
	}
	return false;
}
