/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "host/registry.h"

/** Highest major version whose entry symbol is looked for, only to say what a foreign plugin is made for. */
#define LOADER_MAJOR_PROBED 9

/** Who owns the running program; root when it cannot be seen. */
static uid_t loader_program_owner(void)
{
	struct stat st;

	return stat("/proc/self/exe", &st) == 0 ? st.st_uid : 0;
}

/** A file that others can replace would run their code in this process. */
static int loader_check_owner(const char *what, const char *path, struct rh_error *err)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return rh_fail(err, RH_EPLUGIN, "%s \"%s\": %s", what, path, strerror(errno));
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != loader_program_owner())
		return rh_fail(err, RH_EPLUGIN,
		               "%s \"%s\" belongs to user %lu; it must belong to root or to the user who runs this", what, path,
		               (unsigned long)st.st_uid);
	if (st.st_mode & S_IWOTH)
		return rh_fail(err, RH_EPLUGIN, "%s \"%s\" can be written by every user; take that away with chmod o-w", what,
		               path);
	return 0;
}

/** Check the file, and the folder that holds it, behind all links. */
static int loader_check_file(const char *path, char real[PATH_MAX], struct rh_error *err)
{
	char folder[PATH_MAX];
	struct stat st;
	int r;

	if (!realpath(path, real) || stat(real, &st) != 0)
		return rh_fail(err, RH_EPLUGIN, "cannot open it: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return rh_fail(err, RH_EPLUGIN, "it is no regular file");
	r = loader_check_owner("file", real, err);
	if (r < 0)
		return r;
	rh_copy(folder, sizeof(folder), real);
	*strrchr(folder, '/') = '\0';
	return loader_check_owner("folder", folder[0] ? folder : "/", err);
}

/**
 * A file that was cut short, as by a copy onto a full disk, would be mapped beyond its end, and the first touch of what
 * is missing would be the end of the program. What is no 64-bit ELF file is left to dlopen() to refuse.
 */
static int loader_check_whole(const char *path, struct rh_error *err)
{
	rh_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ElfW(Ehdr) head;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return rh_fail(err, RH_EPLUGIN, "cannot open it: %s", strerror(errno));
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_phentsize != sizeof(ElfW(Phdr)))
		return 0;
	for (size_t i = 0; i < head.e_phnum; i++) {
		ElfW(Phdr) part;
		off_t at = (off_t)(head.e_phoff + i * sizeof(part));

		if (pread(fd, &part, sizeof(part), at) != (ssize_t)sizeof(part) ||
		    (part.p_type == PT_LOAD &&
		     (part.p_offset > (uint64_t)st.st_size || part.p_filesz > (uint64_t)st.st_size - part.p_offset)))
			return rh_fail(err, RH_EPLUGIN, "the file is cut short: it has %lld bytes, its headers tell of more",
			               (long long)st.st_size);
	}
	return 0;
}

/** @return the major version that the entry symbol of @p handle names, or -1 */
static int loader_probe_major(void *handle)
{
	char symbol[32];

	for (int major = 0; major <= LOADER_MAJOR_PROBED; major++) {
		snprintf(symbol, sizeof(symbol), "rh_plugin_entry_v%d", major);
		if (dlsym(handle, symbol))
			return major;
	}
	return -1;
}

static int loader_refuse_symbol(void *handle, struct rh_error *err)
{
	int major = loader_probe_major(handle);

	if (major < 0)
		return rh_fail(err, RH_EPLUGIN, "it does not export " RH_PLUGIN_SYMBOL ", so it is no plugin");
	return rh_fail(
		err, RH_EPLUGIN,
		"it is made for plugin ABI %d.x (it exports rh_plugin_entry_v%d), this host has %d.%d (" RH_PLUGIN_SYMBOL
		"); rebuild one of them",
		major, major, RH_ABI_MAJOR, RH_ABI_MINOR);
}

/**
 * Fetch the table. ISO C has no cast from the object pointer of dlsym() to a function pointer; POSIX promises equal
 * representation.
 */
static int loader_fetch(void *handle, const struct rh_plugin **ret_plugin, struct rh_error *err)
{
	void *symbol = dlsym(handle, RH_PLUGIN_SYMBOL);
	rh_plugin_entry_fn *entry;

	if (!symbol)
		return loader_refuse_symbol(handle, err);
	memcpy(&entry, &symbol, sizeof(entry));
	*ret_plugin = entry();
	return *ret_plugin ? 0 : rh_fail(err, RH_EPLUGIN, RH_PLUGIN_SYMBOL "() returned NULL");
}

int rh_loader_open(const char *path, void **ret_handle, const struct rh_plugin **ret_plugin, struct rh_error *err)
{
	char real[PATH_MAX];
	void *handle;
	int r = loader_check_file(path, real, err);

	if (r == 0)
		r = loader_check_whole(real, err);
	if (r < 0)
		return r;
	handle = dlopen(real, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return rh_fail(err, RH_EPLUGIN, "it does not load: %s", dlerror());
	r = loader_fetch(handle, ret_plugin, err);
	if (r < 0) {
		dlclose(handle);
		return r;
	}
	*ret_handle = handle;
	return 0;
}
