/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library/elf.h"
#include "base/library/sealed.h"
#include "base/library/trust.h"

/* Most libraries that one object may bring along. */
#define LIBRARY_MAX 64

/* A library that was checked already. */
struct library_seen {
	dev_t device;
	ino_t inode;
};

/* One load. */
struct library_walk {
	const struct rh_library *library;
	char *why;
	size_t room;
	struct library_seen seen[LIBRARY_MAX];
	size_t seen_count;
	void *held[LIBRARY_MAX]; /* handles of libraries that were loaded ahead of a copy */
	size_t held_count;
};

/* One object of the walk. */
struct library_object {
	struct library_walk *walk;
	const struct library_object *parent; /* which needs it; NULL: the first */
	const char *path;                    /* as it was found */
	char rpath[PATH_MAX];                /* "": none */
	char runpath[PATH_MAX];
	bool names_files; /* it needs a library by its path */
};

static int library_follow(struct library_object *object, int fd);

static int library_keep_path(void *arg, int64_t tag, const char *text)
{
	struct library_object *object = arg;

	if (tag == DT_RPATH)
		(void)snprintf(object->rpath, sizeof(object->rpath), "%s", text);
	else if (tag == DT_RUNPATH)
		(void)snprintf(object->runpath, sizeof(object->runpath), "%s", text);
	else if (tag == DT_NEEDED && strchr(text, '/'))
		object->names_files = true;
	return 0;
}

/* @return whether the system's folders alone give what the object needs */
static bool library_is_plain(const struct library_object *object)
{
	for (const struct library_object *at = object; at; at = at->parent) {
		if (at->rpath[0] || at->runpath[0])
			return false;
	}
	return !object->names_files;
}

/* The folder of a list that starts at *at, with $ORIGIN filled in; moves *at behind it. @return 0, or -1: it is refused
 */
static int library_next_folder(const struct library_object *object, const char **at, char folder[PATH_MAX])
{
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
	size_t length = strcspn(*at, ":");
	const char *rest = *at;
	const char *before = "";
	int before_length = 0;

	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		size_t origin = strlen(origins[i]);

		if (length >= origin && strncmp(rest, origins[i], origin) == 0 && (length == origin || rest[origin] == '/')) {
			before = object->path;
			before_length = (int)(strrchr(object->path, '/') - object->path);
			rest += origin;
			break;
		}
	}
	(void)snprintf(folder, PATH_MAX, "%.*s%.*s", before_length, before, (int)(length - (size_t)(rest - *at)), rest);
	if (folder[0] != '/' || strchr(folder, '$')) {
		(void)snprintf(object->walk->why, object->walk->room,
		               "\"%s\": its RUNPATH has \"%.*s\"; link it with folders that start with / or $ORIGIN/",
		               object->path, (int)length, *at);
		return -1;
	}
	*at += length;
	return 0;
}

/* Call fn for each folder that the system's loader searches because of the object. @return the first status but 0 */
static int library_each_folder(const struct library_object *object,
                               int (*fn)(void *arg, const struct library_object *object, const char *folder), void *arg)
{
	char folder[PATH_MAX];
	bool only = object->runpath[0];
	int r = 0;

	for (const struct library_object *at = object; at && r == 0; at = only ? NULL : at->parent) {
		const char *list = only ? at->runpath : at->runpath[0] ? "" : at->rpath;

		while (r == 0 && *list) {
			r = library_next_folder(at, &list, folder);
			if (r == 0)
				r = fn(arg, at, folder);
			list += *list == ':';
		}
	}
	return r;
}

static int library_check_folder(void *arg, const struct library_object *object, const char *folder)
{
	struct library_walk *walk = object->walk;
	char why[PATH_MAX];

	(void)arg;
	if (rh_trust_folder(folder, walk->library->self, why, sizeof(why)) == 0)
		return 0;
	(void)snprintf(walk->why, walk->room, "the RUNPATH of \"%s\" makes others choose its libraries: %s", object->path,
	               why);
	return -1;
}

/* @return 1: it was checked before, 0: it is new, -1: there are too many */
static int library_remember(struct library_walk *walk, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return 0;
	for (size_t i = 0; i < walk->seen_count; i++) {
		if (walk->seen[i].device == st.st_dev && walk->seen[i].inode == st.st_ino)
			return 1;
	}
	if (walk->seen_count == LIBRARY_MAX) {
		(void)snprintf(walk->why, walk->room, "it brings more than %d libraries along; link them statically",
		               LIBRARY_MAX);
		return -1;
	}
	walk->seen[walk->seen_count++] = (struct library_seen){st.st_dev, st.st_ino};
	return 0;
}

/*
 * A copy has no folder, so the system's loader cannot find by $ORIGIN what it needs: it takes what is loaded under that
 * name already. What does not load alone is left to the object that needs it.
 */
static void library_hold(struct library_walk *walk, const char *path)
{
	void *handle;

	if (walk->library->name == walk->library->real || walk->held_count == LIBRARY_MAX)
		return;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		walk->held[walk->held_count++] = handle;
	else
		(void)dlerror();
}

/* Check a library that is there, and what it brings along. @return 0 or -1 */
static int library_check(const struct library_object *parent, const char *path)
{
	struct library_walk *walk = parent->walk;
	struct library_object object = {.walk = walk, .parent = parent, .path = path};
	char real[PATH_MAX];
	char why[PATH_MAX];
	int fd = rh_trust_open(path, walk->library->self, real, why, sizeof(why));
	int r;

	if (fd < 0) {
		(void)snprintf(walk->why, walk->room, "\"%s\" needs the library \"%s\": %s", parent->path, path, why);
		return -1;
	}
	r = library_remember(walk, fd);
	if (r == 0) {
		r = library_follow(&object, fd);
		if (r == 0)
			library_hold(walk, path);
	}
	(void)close(fd);
	return r < 0 ? -1 : 0;
}

/* What is looked for. */
struct library_search {
	const struct library_object *object;
	const char *name;
};

/* Where the processor has them, the system's loader prefers these to the folder itself. */
static int library_look(void *arg, const struct library_object *origin, const char *folder)
{
	static const char *const variants[] = {"glibc-hwcaps/x86-64-v4/", "glibc-hwcaps/x86-64-v3/",
	                                       "glibc-hwcaps/x86-64-v2/", ""};
	const struct library_search *search = arg;
	char path[PATH_MAX];
	int found = 0;

	(void)origin;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		int length = snprintf(path, sizeof(path), "%s/%s%s", folder, variants[i], search->name);

		if (length >= (int)sizeof(path) || access(path, F_OK) != 0)
			continue;
		if (library_check(search->object, path) < 0)
			return -1;
		found = 1;
	}
	return found;
}

static int library_check_needed(void *arg, int64_t tag, const char *text)
{
	const struct library_object *object = arg;
	struct library_search search = {object, text};

	if (tag != DT_NEEDED)
		return 0;
	if (strchr(text, '/') && text[0] != '/') {
		(void)snprintf(object->walk->why, object->walk->room,
		               "\"%s\" needs the library \"%s\" of the current folder; link it by its name", object->path,
		               text);
		return -1;
	}
	if (text[0] == '/')
		return library_check(object, text);
	return library_each_folder(object, library_look, &search) < 0 ? -1 : 0;
}

/* Check what an object names and brings along. @return 0 or -1 */
static int library_follow(struct library_object *object, int fd)
{
	int r = rh_elf_each_link(fd, library_keep_path, object);

	if (r == 0)
		r = library_each_folder(object, library_check_folder, NULL);
	if (r == 0 && !library_is_plain(object))
		r = rh_elf_each_link(fd, library_check_needed, object);
	if (r < 0 && !object->walk->why[0])
		(void)snprintf(object->walk->why, object->walk->room, "\"%s\": its dynamic section contradicts itself",
		               object->path);
	return r;
}

void *rh_library_open(const struct rh_library *library, char *ret_why, size_t room)
{
	struct library_walk walk = {.library = library, .why = ret_why, .room = room};
	struct library_object object = {.walk = &walk, .path = library->real};
	void *handle = NULL;

	ret_why[0] = '\0';
	if (library_follow(&object, library->fd) == 0) {
		handle = dlopen(library->name, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			(void)snprintf(ret_why, room, "it does not load: %s", dlerror());
	}
	/* the object holds what it needs */
	while (walk.held_count > 0)
		(void)dlclose(walk.held[--walk.held_count]);
	return handle;
}

void rh_library_close(void *handle)
{
	struct link_map *map = NULL;
	int fd = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? rh_sealed_descriptor(map->l_name) : -1;

	(void)dlclose(handle);
	if (fd >= 0)
		(void)close(fd);
}
