/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

#include <string.h>
#include <unistd.h>

#include "base/library/library.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "host/admit.h"
#include "host/allow.h"
#include "host/call/reply.h"
#include "host/containment/guard.h"
#include "host/containment/probe.h"
#include "host/files.h"
#include "host/needed.h"
#include "host/registry.h"
#include "host/worker/messages/hello.h"
#include "host/worker/worker.h"

/** A plugin file that is being loaded. */
struct host_file {
	char *path;               /* borrowed */
	bool unneeded;            /* see rh_needed_find() */
	bool own;                 /* of this release */
	bool remote;              /* into a process of its own */
	struct rh_worker *worker; /* that process; owned until it is loaded */
	struct rh_error reason;   /* else: what it did when it was tried */
};

static void host_unload(const struct rh_config *config, struct rh_slot *slot)
{
	struct rh_guard guard;

	if (slot->state == RH_PLUGIN_READY && !slot->worker)
		rh_slot_finish(config, slot);
	if (!slot->handle)
		return;
	rh_slot_enter(config, slot, "its destructors", &guard);
	rh_library_close(slot->handle);
	rh_guard_leave();
}

static void host_slot_free(struct rh_slot *slot)
{
	if (!slot)
		return;
	rh_free(slot->path);
	rh_free(slot->name);
	rh_free(slot->release);
	rh_free(slot->section);
	rh_worker_free(slot->worker);
	rh_json_free(slot->resources);
	rh_free(slot);
}

int rh_host_new(const struct rh_config *config, struct rh_host **ret_host, struct rh_error *err)
{
	struct rh_host *host = rh_alloc(sizeof(*host));

	if (!host)
		return rh_fail_oom(err);
	host->config = config;
	host->services = rh_services_table();
	host->patience = RH_WORKER_PATIENCE;
	host->events = -1;
	*ret_host = host;
	return 0;
}

void rh_host_free(struct rh_host *host)
{
	if (!host)
		return;
	for (size_t i = 0; i < host->slot_count; i++) {
		if (host->slots[i]->worker)
			rh_worker_dismiss(host->slots[i]->worker);
	}
	for (size_t i = host->slot_count; i > 0; i--) {
		host_unload(host->config, host->slots[i - 1]);
		host_slot_free(host->slots[i - 1]);
	}
	if (host->events >= 0)
		(void)close(host->events);
	rh_free(host->slots);
	rh_free(host);
}

/** Append an empty slot. @return it, borrowed, or NULL when memory is out */
static struct rh_slot *host_slot_new(struct rh_host *host, const char *path)
{
	struct rh_slot **grown = rh_realloc_array(host->slots, host->slot_count + 1, sizeof(struct rh_slot *));
	struct rh_slot *slot;

	if (!grown)
		return NULL;
	host->slots = grown;
	slot = rh_alloc(sizeof(*slot));
	if (!slot)
		return NULL;
	slot->path = rh_strdup(path);
	if (!slot->path) {
		host_slot_free(slot);
		return NULL;
	}
	grown[host->slot_count++] = slot;
	return slot;
}

/** The list is asked before a file is opened, so the plugin NAME is the file NAME.so. */
static int host_check_file_allowed(const struct rh_host *host, struct rh_slot *slot, struct rh_error *err)
{
	rh_auto_free char *name = rh_files_name(slot->path);

	return name ? rh_slot_check_allowed(host, slot, name, err) : rh_fail_oom(err);
}

/** Keep why a slot is not ready. @return @p r */
static int host_settle(struct rh_slot *slot, int r, const struct rh_error *reason, struct rh_error *err)
{
	if (r == 0)
		return 0;
	slot->reason = *reason;
	if (err)
		*err = *reason;
	return rh_wrap(err, r, "plugin \"%s\"", slot->path);
}

/** Check that a file has what the allow-list demands. */
static int host_check_file(const struct rh_host *host, const char *path, struct rh_loadable *ret_file,
                           struct rh_error *err)
{
	rh_auto_free char *name = rh_files_name(path);
	struct rh_pin pin;

	if (!name)
		return rh_fail_oom(err);
	pin = rh_allow_pin(host->config, name);
	return rh_loader_check(path, &pin, ret_file, err);
}

/** Load the slot's file. @param copy descriptor of its checked copy, taken, also on error; -1: there is none */
static int host_open(const struct rh_host *host, struct rh_slot *slot, int copy, const struct rh_plugin **ret_plugin,
                     struct rh_error *err)
{
	__attribute__((cleanup(rh_loadable_deinit))) struct rh_loadable file = {.fd = copy, .is_copy = copy >= 0};
	struct rh_guard guard;
	int r = host_check_file_allowed(host, slot, err);

	if (r < 0)
		return r;
	if (copy >= 0)
		rh_copy(file.real, sizeof(file.real), slot->path);
	rh_slot_enter(host->config, slot, "its constructors or " RH_PLUGIN_SYMBOL "()", &guard);
	if (copy < 0)
		r = host_check_file(host, slot->path, &file, err);
	if (r == 0)
		r = rh_loader_load(&file, &slot->handle, ret_plugin, err);
	rh_guard_leave();
	return r;
}

/** Fill a slot. @param slot NULL: memory is out */
static int host_load(struct rh_host *host, struct rh_slot *slot, int copy, struct rh_error *err)
{
	const struct rh_plugin *plugin;
	struct rh_error reason = {0};
	int r;

	if (!slot) {
		if (copy >= 0)
			(void)close(copy);
		return rh_fail_oom(err);
	}
	r = host_open(host, slot, copy, &plugin, &reason);
	if (r == 0)
		r = rh_host_admit(host, slot, plugin, &reason);
	return host_settle(slot, r, &reason, err);
}

int rh_host_load_file(struct rh_host *host, const char *path, struct rh_error *err)
{
	return host_load(host, host_slot_new(host, path), -1, err);
}

int rh_host_load_copy(struct rh_host *host, const char *real, int copy, struct rh_error *err)
{
	return host_load(host, host_slot_new(host, real), copy, err);
}

/** Load a plugin of this release. */
static int host_load_own(struct rh_host *host, const char *path)
{
	struct rh_slot *slot = host_slot_new(host, path);

	if (slot)
		slot->own = true;
	return host_load(host, slot, -1, NULL);
}

/** Find out what a plugin file is, and so where it is to run. */
static void host_place(const struct rh_config *config, struct host_file *file)
{
	file->own = config->plugin_isolation != RH_ISOLATION_PROCESS && rh_files_own_kinds(file->path);
	file->remote = config->plugin_isolation == RH_ISOLATION_PROCESS ||
	               (config->plugin_isolation == RH_ISOLATION_FOREIGN && !file->own);
}

/** @return whether the file is tried in another process before it is loaded into this one */
static bool host_is_tried(const struct host_file *file)
{
	return !file->unneeded && !file->remote && !file->own;
}

/** Say here what the plugin noted in its process when it was started. */
static void host_log_notes(const struct rh_hello *hello)
{
	struct rh_reply reply = {.operation = RH_OPERATION_INIT, .plugin = rh_hello_plugin(hello)->name};
	const char *text;
	size_t cursor = 0;
	int32_t level;

	while ((text = rh_hello_note(hello, &cursor, &level)))
		(void)rh_reply_note(&reply, level, text);
}

/**
 * Take over what the process of @p worker (taken) says of the plugin. A file that is not what it was pinned to is
 * refused; the process that loads it is not to blame.
 */
static int host_load_remote(struct rh_host *host, const char *path, struct rh_worker *worker, struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, path);
	struct rh_error reason = {0};
	int r;

	if (!slot) {
		rh_worker_free(worker);
		return rh_fail_oom(err);
	}
	slot->worker = worker;
	r = host_check_file_allowed(host, slot, &reason);
	if (r == 0)
		r = rh_worker_open(worker, &reason);
	if (r == 0) {
		r = rh_worker_describe(worker, &slot->hello, &reason);
		if (r < 0)
			slot->state = RH_PLUGIN_BROKEN;
	}
	if (r == 0 && !rh_hello_plugin(slot->hello))
		r = rh_fail(&reason, RH_EPLUGIN, "%s", rh_hello_reason(slot->hello));
	if (r == 0)
		host_log_notes(slot->hello);
	if (r == 0)
		r = rh_host_admit(host, slot, rh_hello_plugin(slot->hello), &reason);
	if (slot->state != RH_PLUGIN_READY)
		rh_worker_stop(worker);
	return host_settle(slot, r == RH_EIO ? RH_EPLUGIN : r, &reason, err);
}

/** Keep a file that did harm where it was tried. @return RH_EPLUGIN or RH_ENOMEM */
static int host_keep_broken(struct rh_host *host, const char *path, const struct rh_error *reason, struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, path);

	if (!slot)
		return rh_fail_oom(err);
	slot->state = RH_PLUGIN_BROKEN;
	return host_settle(slot, RH_EPLUGIN, reason, err);
}

/** Load files as a process does that tries them: with init() and describe(), definitions, fini(). */
static void host_try(const struct rh_config *config, char *const *paths, size_t count)
{
	struct rh_host *host = NULL;

	if (rh_host_new(config, &host, NULL) < 0)
		_exit(1); /* seen as a failure of this process */
	for (size_t i = 0; i < count; i++)
		(void)rh_host_load_file(host, paths[i], NULL);
	rh_host_free(host);
}

int rh_host_try_file(struct rh_host *host, const char *path, struct rh_error *err)
{
	char *const paths[] = {(char *)path};
	struct rh_probe_files files = {host->config, host_try, paths, 1};
	struct host_file file = {.path = paths[0]};
	struct rh_error reason;
	int r;

	host_place(host->config, &file);
	if (file.remote) {
		struct rh_worker *worker = rh_worker_new(host->config, path);

		return worker ? host_load_remote(host, path, worker, err) : rh_fail_oom(err);
	}
	r = rh_probe(&files, &reason, err);
	if (r < 0)
		return r;
	return reason.code < 0 ? host_keep_broken(host, path, &reason, err) : rh_host_load_file(host, path, err);
}

int rh_host_add(struct rh_host *host, const char *path, const struct rh_plugin *plugin, struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, path);
	struct rh_error reason = {0};

	if (!slot)
		return rh_fail_oom(err);
	return host_settle(slot, rh_host_admit(host, slot, plugin, &reason), &reason, err);
}

/** Show a file that is not opened. */
static int host_skip(struct rh_host *host, const char *path, struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, path);

	if (!slot)
		return rh_fail_oom(err);
	slot->state = RH_PLUGIN_UNNEEDED;
	return 0;
}

/** Show a folder that cannot be read where its plugins would be shown. */
static int host_refuse_folder(struct rh_host *host, const char *folder, const struct rh_error *reason,
                              struct rh_error *err)
{
	struct rh_slot *slot = host_slot_new(host, folder);

	if (!slot)
		return rh_fail_oom(err);
	slot->reason = *reason;
	return 0;
}

static int host_list_folder(struct rh_host *host, const char *folder, struct rh_files *names, struct rh_error *err)
{
	struct rh_error reason = {0};
	int r = rh_files_list(folder, names, &reason);

	if (r == RH_ENOMEM)
		return rh_fail_oom(err);
	return r < 0 ? host_refuse_folder(host, folder, &reason, err) : 0;
}

/** Start the processes of files at once, so that they load side by side. A file that is not allowed is not opened. */
static int host_start_workers(const struct rh_host *host, struct host_file *files, size_t count, struct rh_error *err)
{
	rh_allow_prepare(host->config);
	for (size_t i = 0; i < count; i++) {
		rh_auto_free char *name = rh_files_name(files[i].path);

		if (!name)
			return rh_fail_oom(err);
		if (files[i].unneeded)
			continue;
		host_place(host->config, &files[i]);
		files[i].worker = files[i].remote ? rh_worker_new(host->config, files[i].path) : NULL;
		if (files[i].remote && !files[i].worker)
			return rh_fail_oom(err);
		if (files[i].remote && rh_allow_check(host->config, name, NULL) == 0)
			(void)rh_worker_start(files[i].worker, NULL); /* rh_worker_describe() says why it cannot */
	}
	return 0;
}

/**
 * Try the files that are to be loaded into this process, but for those of this release: they are as good as the
 * program.
 */
static int host_probe_files(const struct rh_host *host, struct host_file *files, size_t count, struct rh_error *err)
{
	rh_auto_free struct rh_error *reasons = rh_alloc_array(count + 1, sizeof(*reasons));
	rh_auto_free char **paths = rh_alloc_array(count + 1, sizeof(*paths));
	size_t tried = 0;
	int r;

	if (!reasons || !paths)
		return rh_fail_oom(err);
	for (size_t i = 0; i < count; i++) {
		if (host_is_tried(&files[i]))
			paths[tried++] = files[i].path;
	}
	r = rh_probe(&(struct rh_probe_files){host->config, host_try, paths, tried}, reasons, err);
	tried = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (host_is_tried(&files[i]))
			files[i].reason = reasons[tried++];
	}
	return r;
}

static int host_load_one(struct rh_host *host, struct host_file *file)
{
	if (file->unneeded)
		return host_skip(host, file->path, NULL);
	if (file->remote)
		return host_load_remote(host, file->path, rh_take(file->worker), NULL);
	if (file->reason.code < 0)
		return host_keep_broken(host, file->path, &file->reason, NULL);
	return file->own ? host_load_own(host, file->path) : rh_host_load_file(host, file->path, NULL);
}

/** @param unneeded for each file, whether it is left out */
static int host_load_files(struct rh_host *host, const struct rh_files *paths, const bool *unneeded,
                           struct rh_error *err)
{
	rh_auto_free struct host_file *files = rh_alloc_array(paths->count + 1, sizeof(*files));
	int r;

	if (!files)
		return rh_fail_oom(err);
	for (size_t i = 0; i < paths->count; i++) {
		files[i].path = paths->items[i];
		files[i].unneeded = unneeded[i];
	}
	r = host_start_workers(host, files, paths->count, err);
	if (r == 0)
		r = host_probe_files(host, files, paths->count, err);
	for (size_t i = 0; r == 0 && i < paths->count; i++)
		r = host_load_one(host, &files[i]) == RH_ENOMEM ? rh_fail_oom(err) : 0;
	for (size_t i = 0; i < paths->count; i++)
		rh_worker_free(files[i].worker);
	return r;
}

void rh_host_set_retry(struct rh_host *host, bool retry)
{
	host->retries = retry;
}

void rh_host_set_cluster(struct rh_host *host)
{
	host->on_cluster = true;
}

/** @param manifest what the plugins are for; NULL: anything */
static int host_load_folders(struct rh_host *host, const struct rh_manifest *manifest, struct rh_error *err)
{
	__attribute__((cleanup(rh_files_deinit))) struct rh_files paths = {0};
	rh_auto_free bool *unneeded = NULL;

	for (size_t i = 0; i < host->config->plugin_dir_count; i++) {
		int r = host_list_folder(host, host->config->plugin_dirs[i], &paths, err);

		if (r < 0)
			return r;
	}
	unneeded = rh_alloc_array(paths.count + 1, sizeof(*unneeded));
	if (!unneeded)
		return rh_fail_oom(err);
	if (manifest)
		rh_needed_find(host->config, &paths, manifest, unneeded);
	return host_load_files(host, &paths, unneeded, err);
}

int rh_host_load_all(struct rh_host *host, struct rh_error *err)
{
	return host_load_folders(host, NULL, err);
}

int rh_host_load_for(struct rh_host *host, const struct rh_manifest *manifest, struct rh_error *err)
{
	return host_load_folders(host, manifest, err);
}

size_t rh_host_plugin_count(const struct rh_host *host)
{
	return host->slot_count;
}

void rh_host_plugin(const struct rh_host *host, size_t index, struct rh_plugin_info *ret_info)
{
	const struct rh_slot *slot = host->slots[index];
	const char *slash = strrchr(slot->path, '/');

	*ret_info = (struct rh_plugin_info){
		.path = slot->path,
		.name = slot->name ? slot->name
	            : slash    ? slash + 1
	                       : slot->path,
		.release = slot->release ? slot->release : "",
		.state = slot->state,
		.reason = slot->reason.message,
		.kinds = slot->kinds,
		.settings = slot->plugin && RH_HAS(slot->plugin, struct rh_plugin, settings) ? slot->plugin->settings : NULL,
	};
}

const struct rh_slot *rh_host_slot(const struct rh_host *host, const struct rh_kind *kind)
{
	for (size_t i = 0; i < host->slot_count; i++) {
		for (size_t k = 0; k < host->slots[i]->kind_count; k++) {
			if (host->slots[i]->kinds[k] == kind)
				return host->slots[i];
		}
	}
	return NULL;
}
