/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program, this stops it, as SIGSTOP does, when libcurl is about to send the create of a pod. Each
 * such create takes a byte from the file that $RH_TEST_STOP names; that which takes the last one is meant.
 */
#include <curl/curl.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool stop_is_create(CURL *easy)
{
	static const char pods[] = "/pods";
	char *method = NULL;
	char *url = NULL;
	size_t length;

	(void)curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_METHOD, &method);
	(void)curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
	length = url ? strlen(url) : 0;
	return method && strcmp(method, "POST") == 0 && length > strlen(pods) &&
	       strcmp(url + length - strlen(pods), pods) == 0;
}

/* The multi handle that has the last create; the next call that may send it stops the program. */
static _Atomic(CURLM *) stop_at;

static bool stop_takes_last(void)
{
	const char *path = getenv("RH_TEST_STOP");
	struct stat info = {0};

	return path && stat(path, &info) == 0 && info.st_size > 0 && truncate(path, info.st_size - 1) == 0 &&
	       info.st_size == 1;
}

__attribute__((visibility("default"))) CURLMcode curl_multi_add_handle(CURLM *multi_handle, CURL *curl_handle)
{
	CURLMcode (*real)(CURLM *, CURL *) = NULL;
	CURLMcode code;

	*(void **)&real = dlsym(RTLD_NEXT, "curl_multi_add_handle");
	code = real(multi_handle, curl_handle);
	if (stop_is_create(curl_handle) && stop_takes_last())
		atomic_store(&stop_at, multi_handle);
	return code;
}

__attribute__((visibility("default"))) CURLMcode curl_multi_socket_action(CURLM *multi_handle, curl_socket_t s,
                                                                          int ev_bitmask, int *running_handles)
{
	CURLMcode (*real)(CURLM *, curl_socket_t, int, int *) = NULL;
	CURLM *stopped = multi_handle;

	*(void **)&real = dlsym(RTLD_NEXT, "curl_multi_socket_action");
	if (atomic_compare_exchange_strong(&stop_at, &stopped, (CURLM *)NULL))
		(void)raise(SIGSTOP);
	return real(multi_handle, s, ev_bitmask, running_handles);
}
