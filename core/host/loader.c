/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/minisign.h"
#include "base/library/library.h"
#include "base/library/sealed.h"
#include "base/library/trust.h"
#include "base/mem.h"
#include "base/os/file.h"
#include "host/registry.h"

/** Highest major version whose entry symbol is looked for, only to say what a foreign plugin is made for. */
#define LOADER_MAJOR_PROBED 9
/** Largest file of a signature, in bytes. */
#define LOADER_SIGNATURE_MAX 65536
/** Program headers that one call reads; linkers write about ten. */
#define LOADER_PARTS 16
/** What loads plugins. */
#define LOADER_SELF "/proc/self/exe"

/** Read some of the program headers. @return how many; 0: none, for the file ends before */
static size_t loader_read_parts(int fd, const ElfW(Ehdr) * head, size_t first, ElfW(Phdr) * parts)
{
	size_t count = head->e_phnum - first < LOADER_PARTS ? head->e_phnum - first : LOADER_PARTS;
	off_t at = (off_t)(head->e_phoff + first * sizeof(*parts));
	ssize_t length = pread(fd, parts, count * sizeof(*parts), at);

	return length > 0 ? (size_t)length / sizeof(*parts) : 0;
}

/** @return whether the file has all bytes of a part that is to be mapped */
static bool loader_has_part(const ElfW(Phdr) * part, uint64_t size)
{
	return part->p_type != PT_LOAD || (part->p_offset <= size && part->p_filesz <= size - part->p_offset);
}

/**
 * A file that was cut short, as by a copy onto a full disk, would be mapped beyond its end, and the first touch of what
 * is missing would be the end of the program. What is no 64-bit ELF file is left to dlopen() to refuse.
 */
static int loader_check_whole(int fd, struct rh_error *err)
{
	ElfW(Phdr) parts[LOADER_PARTS];
	ElfW(Ehdr) head;
	size_t count = 0;
	bool whole = true;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return rh_fail(err, RH_EPLUGIN, "cannot open it: %s", strerror(errno));
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_phentsize != sizeof(ElfW(Phdr)))
		return 0;
	for (size_t first = 0; whole && first < head.e_phnum; first += count) {
		count = loader_read_parts(fd, &head, first, parts);
		whole = count > 0;
		for (size_t i = 0; whole && i < count; i++)
			whole = loader_has_part(&parts[i], (uint64_t)st.st_size);
	}
	return whole ? 0
	             : rh_fail(err, RH_EPLUGIN,
	                       "the file is truncated: it has %lld bytes, its headers require more; copy it again",
	                       (long long)st.st_size);
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
		return rh_fail(err, RH_EPLUGIN, "it does not export " RH_PLUGIN_SYMBOL ", so it is not a plugin");
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

static int loader_check_hash(int fd, const struct rh_pin *pin, struct rh_error *err)
{
	char hash[RH_SHA256_HEX_SIZE];

	if (!pin->sha256)
		return 0;
	if (rh_crypto_sha256(fd, hash, err) < 0)
		return RH_EPLUGIN;
	if (strcmp(hash, pin->sha256) == 0)
		return 0;
	return rh_fail(err, RH_EPLUGIN,
	               "its SHA-256 is %s, and not %s as %s says; restore the file, or, if it is the one you want, run "
	               "`roundhouse plugins pin`",
	               hash, pin->sha256, pin->origin);
}

static int loader_check_signature(int fd, const char *real, const struct rh_pin *pin, struct rh_error *err)
{
	rh_auto_free char *path = rh_asprintf("%s" RH_SIGNATURE_ENDING, real);
	rh_auto_free char *text = NULL;
	struct rh_minisign_key key;
	struct rh_error inner = {0};
	int r;

	if (!pin->public_key)
		return 0;
	if (!path)
		return rh_fail_oom(err);
	/* it was checked when the configuration was read */
	(void)rh_minisign_key_parse(pin->public_key, &key);
	r = rh_file_read(path, LOADER_SIGNATURE_MAX, &text, NULL, &inner);
	if (r == RH_ENOENT)
		return rh_fail(err, RH_EPLUGIN,
		               "it has no signature \"%s\", which [plugins] public-key demands; sign it with "
		               "minisign -Sm",
		               path);
	if (r == 0)
		r = rh_minisign_verify(&key, fd, text, &inner);
	return r < 0 ? rh_fail(err, RH_EPLUGIN, "signature \"%s\": %s", path, inner.message) : 0;
}

/** Copy the file into memory and check the copy. @return its descriptor, or RH_EPLUGIN */
static int loader_copy(int fd, const char *real, const struct rh_pin *pin, struct rh_error *err)
{
	char why[RH_ERROR_MESSAGE_SIZE];
	int copy = rh_sealed_copy(fd, strrchr(real, '/') + 1, RH_PLUGIN_FILE_MAX, why, sizeof(why));
	int r;

	if (copy < 0)
		return rh_fail(err, RH_EPLUGIN, "%s", why);
	r = loader_check_hash(copy, pin, err);
	if (r == 0)
		r = loader_check_signature(copy, real, pin, err);
	if (r == 0)
		return copy;
	(void)close(copy);
	return RH_EPLUGIN;
}

/** Check what the file has to be, in a copy that nobody can change where it is pinned. */
static int loader_check(struct rh_loadable *loadable, const struct rh_pin *pin, struct rh_error *err)
{
	int copy;

	if (pin->sha256 || pin->public_key) {
		copy = loader_copy(loadable->fd, loadable->real, pin, err);
		if (copy < 0)
			return copy;
		(void)close(loadable->fd);
		loadable->fd = copy;
		loadable->is_copy = true;
	}
	return loader_check_whole(loadable->fd, err);
}

int rh_loader_check(const char *path, const struct rh_pin *pin, struct rh_loadable *ret_loadable, struct rh_error *err)
{
	char why[RH_ERROR_MESSAGE_SIZE];
	int r;

	ret_loadable->is_copy = false;
	ret_loadable->fd = rh_trust_open(path, LOADER_SELF, ret_loadable->real, why, sizeof(why));
	if (ret_loadable->fd < 0)
		return rh_fail(err, RH_EPLUGIN, "%s", why);
	r = loader_check(ret_loadable, pin, err);
	if (r < 0)
		rh_loadable_deinit(ret_loadable);
	return r;
}

void rh_loadable_deinit(struct rh_loadable *loadable)
{
	if (loadable->fd >= 0)
		(void)close(loadable->fd);
	loadable->fd = -1;
}

/** Load a file or its copy, whose descriptor the handle closes from then on. @return the handle, or NULL */
static void *loader_load(struct rh_loadable *loadable, struct rh_error *err)
{
	char name[RH_SEALED_NAME_SIZE];
	char why[RH_ERROR_MESSAGE_SIZE];
	struct rh_library library = {
		.fd = loadable->fd, .real = loadable->real, .name = loadable->real, .self = LOADER_SELF};
	void *handle;

	if (loadable->is_copy) {
		rh_sealed_name(loadable->fd, name);
		library.name = name;
	}
	handle = rh_library_open(&library, why, sizeof(why));
	if (!handle)
		(void)rh_fail(err, RH_EPLUGIN, "%s", why);
	else if (loadable->is_copy)
		loadable->fd = -1;
	return handle;
}

int rh_loader_load(struct rh_loadable *loadable, void **ret_handle, const struct rh_plugin **ret_plugin,
                   struct rh_error *err)
{
	void *handle = loader_load(loadable, err);
	int r;

	if (!handle)
		return RH_EPLUGIN;
	r = loader_fetch(handle, ret_plugin, err);
	if (r < 0) {
		rh_library_close(handle);
		return r;
	}
	*ret_handle = handle;
	return 0;
}
