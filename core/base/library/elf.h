/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/library/elf.h
 * @brief Which libraries a shared object needs, read from its file without loading it.
 *
 * librhcomm is built with this file, too: it uses the C library alone.
 */
#ifndef RH_BASE_LIBRARY_ELF_H
#define RH_BASE_LIBRARY_ELF_H

#include <stddef.h>
#include <stdint.h>

/**
 * One text of the dynamic section. @param tag DT_NEEDED, DT_RPATH or DT_RUNPATH. @param text borrowed
 * @return 0 to go on; any other status ends the walk
 */
typedef int rh_elf_link_fn(void *arg, int64_t tag, const char *text);

/**
 * Call @p fn for each DT_RPATH, DT_RUNPATH and DT_NEEDED of the file behind @p fd, in the order of the file. A file
 * that is not a 64-bit ELF file, or that has no dynamic section, has none: dlopen() refuses it.
 * @return 0, the first other status of @p fn, or -1 when the file contradicts itself or cannot be read
 */
int rh_elf_each_link(int fd, rh_elf_link_fn *fn, void *arg);

#endif
