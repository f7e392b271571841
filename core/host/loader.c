/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/trust.h"
#include "host/registry.h"

/** Highest major version whose entry symbol is looked for, only to say what a foreign plugin is made for. */
#define LOADER_MAJOR_PROBED 9

/**
 * A file that was cut short, as by a copy onto a full disk, would be mapped beyond its end, and the first touch of what
 * is missing would be the end of the program. What is no 64-bit ELF file is left to dlopen() to refuse.
 */
static int loader_check_whole(int fd, struct rh_error *err)
{
	ElfW(Ehdr) head;
	struct stat st;

	if (fstat(fd, &st) != 0)
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
			return rh_fail(err, RH_EPLUGIN,
			               "the file is truncated: it has %lld bytes, its headers require more; copy it again",
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
	char why[RH_ERROR_MESSAGE_SIZE];
	rh_auto_close int fd = rh_trust_open(path, "/proc/self/exe", real, why, sizeof(why));
	void *handle;
	int r;

	if (fd < 0)
		return rh_fail(err, RH_EPLUGIN, "%s", why);
	r = loader_check_whole(fd, err);
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
