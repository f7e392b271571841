/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw limit: creates objects over HTTP/2 as fast as libcurl does, so many at once. The bodies are in memory before
 * it starts, and handles are used again. Prints the seconds that it took, and fails when one create does.
 * Usage: creates URL CA CERTIFICATE KEY PARALLEL FILE; each line of FILE is a path, a space and a body.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PARALLEL_MAX 256

/* One object to create. */
struct creation {
	char *url;
	char *body;
};

struct client {
	const char *const *message; /* of the command line */
	struct creation *creations;
	size_t count;
	size_t begun;
	size_t done;
	CURLM *multi;
	struct curl_slist *headers;
	CURL *handles[PARALLEL_MAX];
};

static double now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool client_add(struct client *client, const char *line, size_t length)
{
	struct creation *more = realloc(client->creations, (client->count + 1) * sizeof(*more));
	const char *space = memchr(line, ' ', length);
	size_t url_size = space ? strlen(client->message[1]) + (size_t)(space - line) + 1 : 0;
	struct creation *creation;

	if (!more || !space)
		return false;
	client->creations = more;
	creation = &more[client->count];
	creation->url = malloc(url_size);
	creation->body = strndup(space + 1, length - (size_t)(space + 1 - line));
	if (!creation->url || !creation->body)
		return false;
	(void)snprintf(creation->url, url_size, "%s%.*s", client->message[1], (int)(space - line), line);
	client->count++;
	return true;
}

static bool client_read(struct client *client)
{
	FILE *file = fopen(client->message[6], "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	bool good = file != NULL;

	while (good && (length = getline(&line, &size, file)) > 0)
		good = client_add(client, line, (size_t)length - (line[length - 1] == '\n'));
	free(line);
	if (file)
		(void)fclose(file);
	return good && client->count > 0;
}

static size_t on_answer(char *data, size_t size, size_t count, void *arg)
{
	(void)data;
	(void)arg;
	return size * count;
}

/* Give a handle its next object. @return whether there was one */
static bool client_send(struct client *client, CURL *handle)
{
	const struct creation *creation = &client->creations[client->begun];

	if (client->begun == client->count)
		return false;
	client->begun++;
	(void)curl_easy_setopt(handle, CURLOPT_URL, creation->url);
	(void)curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)strlen(creation->body));
	(void)curl_easy_setopt(handle, CURLOPT_POSTFIELDS, creation->body);
	return curl_multi_add_handle(client->multi, handle) == CURLM_OK;
}

static CURL *client_handle(const struct client *client)
{
	CURL *handle = curl_easy_init();

	if (!handle)
		return NULL;
	(void)curl_easy_setopt(handle, CURLOPT_CAINFO, client->message[2]);
	(void)curl_easy_setopt(handle, CURLOPT_SSLCERT, client->message[3]);
	(void)curl_easy_setopt(handle, CURLOPT_SSLKEY, client->message[4]);
	(void)curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
	(void)curl_easy_setopt(handle, CURLOPT_HTTPHEADER, client->headers);
	(void)curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	(void)curl_easy_setopt(handle, CURLOPT_PIPEWAIT, 1L);
	(void)curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_answer);
	return handle;
}

/* Take what is over, and send the next with the same handle. */
static bool client_collect(struct client *client)
{
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left))) {
		CURL *handle = message->easy_handle;
		CURLcode code = message->data.result;
		long status = 0;

		(void)curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
		if (code != CURLE_OK || status != 201) {
			fprintf(stderr, "creates: %s, HTTP %ld\n", curl_easy_strerror(code), status);
			return false;
		}
		client->done++;
		(void)curl_multi_remove_handle(client->multi, handle);
		(void)client_send(client, handle);
	}
	return true;
}

static bool client_run(struct client *client)
{
	int running;

	while (client->done < client->count) {
		if (curl_multi_perform(client->multi, &running) != CURLM_OK || !client_collect(client) ||
		    curl_multi_poll(client->multi, NULL, 0, 1000, NULL) != CURLM_OK)
			return false;
	}
	return true;
}

static bool client_open(struct client *client, size_t parallel)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return false;
	client->multi = curl_multi_init();
	client->headers = curl_slist_append(NULL, "Content-Type: application/json");
	if (!client->multi || !client->headers)
		return false;
	(void)curl_multi_setopt(client->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	for (size_t i = 0; i < parallel; i++) {
		client->handles[i] = client_handle(client);
		if (!client->handles[i])
			return false;
	}
	return true;
}

static void client_close(struct client *client, size_t parallel)
{
	for (size_t i = 0; i < parallel; i++) {
		if (client->handles[i])
			(void)curl_multi_remove_handle(client->multi, client->handles[i]);
		curl_easy_cleanup(client->handles[i]);
	}
	(void)curl_multi_cleanup(client->multi);
	curl_slist_free_all(client->headers);
	for (size_t i = 0; i < client->count; i++) {
		free(client->creations[i].url);
		free(client->creations[i].body);
	}
	free(client->creations);
	curl_global_cleanup();
}

int main(int argc, char **argv)
{
	struct client client = {.message = (const char *const *)argv};
	size_t parallel = argc == 7 ? strtoul(argv[5], NULL, 10) : 0;
	double start;
	bool good;

	if (parallel < 1 || parallel > PARALLEL_MAX) {
		fprintf(stderr, "usage: creates URL CA CERTIFICATE KEY PARALLEL FILE; PARALLEL is at most %d\n", PARALLEL_MAX);
		return 2;
	}
	good = client_read(&client) && client_open(&client, parallel);
	start = now();
	for (size_t i = 0; good && i < parallel; i++)
		(void)client_send(&client, client.handles[i]);
	good = good && client_run(&client);
	if (good)
		printf("%.3f\n", now() - start);
	client_close(&client, parallel);
	return good ? 0 : 1;
}
