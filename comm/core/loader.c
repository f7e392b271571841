/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library/library.h"
#include "base/library/trust.h"

#define PATH_ROOM 4096

/* @return whether it is one that this library can talk to; else `why` says both sides */
static bool loader_fits(const struct rh_comm_backend *backend, const char *name, char *why)
{
	const struct rh_comm_head *head = &backend->head;

	if (strncmp(head->vendor, RH_COMM_BACKEND_VENDOR, sizeof(head->vendor)) != 0)
		(void)snprintf(why, RH_COMM_WHY_ROOM, "it is for the ABI of \"%.16s\", this is \"%s\"", head->vendor,
		               RH_COMM_BACKEND_VENDOR);
	else if (head->major != RH_COMM_BACKEND_MAJOR || head->minor != RH_COMM_BACKEND_MINOR)
		(void)snprintf(why, RH_COMM_WHY_ROOM, "it was built for ABI %d.%d, this library has %d.%d", head->major,
		               head->minor, RH_COMM_BACKEND_MAJOR, RH_COMM_BACKEND_MINOR);
	else if (head->size < sizeof(*backend))
		(void)snprintf(why, RH_COMM_WHY_ROOM, "its table has %u bytes, this library needs %zu", head->size,
		               sizeof(*backend));
	else if (!backend->name || strcmp(backend->name, name) != 0)
		(void)snprintf(why, RH_COMM_WHY_ROOM, "it calls itself \"%s\"", backend->name ? backend->name : "");
	else if (!backend->probe || !backend->open || !backend->close || !backend->send || !backend->recv ||
	         !backend->test || !backend->abort)
		(void)snprintf(why, RH_COMM_WHY_ROOM, "it lacks one of probe, open, close, send, recv, test, abort");
	else
		return true;
	return false;
}

/* @return the file of librhcomm itself, or of the program that it is a part of; NULL when it is unknown */
static const char *loader_self(void)
{
	Dl_info info;

	return dladdr((const void *)&rh_comm_native, &info) ? info.dli_fname : NULL;
}

void rh_comm_module_folder(char *folder, size_t room)
{
	const char *path = getenv("RH_COMM_PATH");
	const char *self = loader_self();
	const char *slash = self ? strrchr(self, '/') : NULL;

	if (path && path[0])
		(void)snprintf(folder, room, "%s/", path);
	else
		(void)snprintf(folder, room, "%.*s", slash ? (int)(slash - self) + 1 : 0, slash ? self : "");
}

/* What has a name without a folder is for the system's loader to find, as librhcomm was. */
static void *loader_dlopen_system(const char *file, char *why)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		(void)snprintf(why, RH_COMM_WHY_ROOM, "%s", dlerror());
	return library;
}

/* What runs in this process is out of the reach of others, and so are the libraries that it brings along. */
static void *loader_dlopen(const char *name, char *why)
{
	char folder[PATH_ROOM];
	char file[PATH_ROOM + 64];
	char real[PATH_MAX];
	struct rh_library library = {.real = real, .name = real, .self = loader_self()};
	void *handle;

	rh_comm_module_folder(folder, sizeof(folder));
	(void)snprintf(file, sizeof(file), "%s" RH_COMM_FILE_PREFIX "%s" RH_COMM_FILE_SUFFIX, folder, name);
	if (!strchr(file, '/'))
		return loader_dlopen_system(file, why);
	library.fd = rh_trust_open(file, library.self, real, why, RH_COMM_WHY_ROOM);
	if (library.fd < 0)
		return NULL;
	handle = rh_library_open(&library, why, RH_COMM_WHY_ROOM);
	(void)close(library.fd);
	return handle;
}

static void loader_open(const char *name, struct rh_comm_module *module, char *why)
{
	rh_comm_backend_entry_fn *entry = NULL;
	void *library;

	if (strcmp(name, "native") == 0) {
		module->backend = &rh_comm_native;
		return;
	}
	library = loader_dlopen(name, why);
	if (!library)
		return;
	*(void **)&entry = dlsym(library, RH_COMM_BACKEND_SYMBOL);
	if (!entry) {
		(void)snprintf(why, RH_COMM_WHY_ROOM, "%s", dlerror());
	} else if (loader_fits(entry(), name, why)) {
		*module = (struct rh_comm_module){entry(), library};
		return;
	}
	rh_library_close(library);
}

int32_t rh_comm_module_open(const char *name, struct rh_comm_module *ret_module, char *why)
{
	*ret_module = (struct rh_comm_module){0};
	if (strlen(name) >= RH_COMM_NAME_MAX || strchr(name, '/'))
		(void)snprintf(why, RH_COMM_WHY_ROOM, "\"%.40s\" is not a valid name of a backend", name);
	else
		loader_open(name, ret_module, why);
	return ret_module->backend ? 0 : RH_COMM_ENOTSUP;
}

void rh_comm_module_close(struct rh_comm_module *module)
{
	if (module->library)
		rh_library_close(module->library);
	*module = (struct rh_comm_module){0};
}
