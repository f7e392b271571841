/* SPDX-License-Identifier: Apache-2.0 */
#include "base/library/elf.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Most entries of a dynamic section that are read; linkers write about thirty. */
#define ELF_ENTRIES_MAX 4096
/* Entries that one call reads. */
#define ELF_BLOCK 64
/* Bytes at the start of a file that one call reads: as a rule all its headers are there. */
#define ELF_START 1024

/* A file that is being read. */
struct elf {
	int fd;
	char start[ELF_START];
	size_t started; /* bytes of it */
	Elf64_Ehdr head;
	off_t dynamic; /* where its dynamic section starts in the file */
	size_t count;  /* entries of it */
	off_t texts;   /* where its string table starts in the file */
	Elf64_Dyn block[ELF_BLOCK];
	size_t first; /* entry that is the first of the block */
	size_t held;  /* entries in the block */
};

static void elf_read_start(struct elf *elf)
{
	ssize_t length = pread(elf->fd, elf->start, sizeof(elf->start), 0);

	elf->started = length > 0 ? (size_t)length : 0;
}

static bool elf_read(const struct elf *elf, void *to, size_t size, off_t at)
{
	if (at < 0)
		return false;
	if ((size_t)at >= elf->started || size > elf->started - (size_t)at)
		return pread(elf->fd, to, size, at) == (ssize_t)size;
	memcpy(to, elf->start + at, size);
	return true;
}

static bool elf_part(const struct elf *elf, size_t index, Elf64_Phdr *ret_part)
{
	return elf_read(elf, ret_part, sizeof(*ret_part), (off_t)(elf->head.e_phoff + index * sizeof(*ret_part)));
}

/* @return whether the file has a dynamic section */
static bool elf_find_dynamic(struct elf *elf)
{
	Elf64_Phdr part;

	elf_read_start(elf);
	if (!elf_read(elf, &elf->head, sizeof(elf->head), 0) || memcmp(elf->head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->head.e_ident[EI_CLASS] != ELFCLASS64 || elf->head.e_phentsize != sizeof(part))
		return false;
	for (size_t i = 0; i < elf->head.e_phnum && elf_part(elf, i, &part); i++) {
		if (part.p_type != PT_DYNAMIC)
			continue;
		elf->dynamic = (off_t)part.p_offset;
		elf->count = part.p_filesz / sizeof(Elf64_Dyn);
		return elf->count <= ELF_ENTRIES_MAX;
	}
	return false;
}

/* @return the offset in the file of what is loaded at an address, or -1 */
static off_t elf_offset(const struct elf *elf, Elf64_Addr address)
{
	Elf64_Phdr part;

	for (size_t i = 0; i < elf->head.e_phnum && elf_part(elf, i, &part); i++) {
		if (part.p_type == PT_LOAD && address >= part.p_vaddr && address - part.p_vaddr < part.p_filesz)
			return (off_t)(part.p_offset + (address - part.p_vaddr));
	}
	return -1;
}

static bool elf_fill(struct elf *elf, size_t first)
{
	size_t count = elf->count - first < ELF_BLOCK ? elf->count - first : ELF_BLOCK;
	off_t at = elf->dynamic + (off_t)(first * sizeof(elf->block[0]));
	ssize_t length = at >= 0 ? pread(elf->fd, elf->block, count * sizeof(elf->block[0]), at) : -1;

	elf->first = first;
	elf->held = length > 0 ? (size_t)length / sizeof(elf->block[0]) : 0;
	return elf->held > 0;
}

static bool elf_entry(struct elf *elf, size_t index, Elf64_Dyn *ret_entry)
{
	bool held = index >= elf->first && index < elf->first + elf->held;

	if (index >= elf->count || (!held && !elf_fill(elf, index)))
		return false;
	*ret_entry = elf->block[index - elf->first];
	return ret_entry->d_tag != DT_NULL;
}

static bool elf_find_texts(struct elf *elf)
{
	Elf64_Dyn entry;

	elf->texts = -1;
	for (size_t i = 0; elf_entry(elf, i, &entry); i++) {
		if (entry.d_tag == DT_STRTAB)
			elf->texts = elf_offset(elf, entry.d_un.d_ptr);
	}
	return elf->texts >= 0;
}

static int elf_give_text(const struct elf *elf, const Elf64_Dyn *entry, rh_elf_link_fn *fn, void *arg)
{
	char text[PATH_MAX];
	off_t at = elf->texts + (off_t)entry->d_un.d_val;
	ssize_t length = at < elf->texts ? -1 : pread(elf->fd, text, sizeof(text), at);

	if (length <= 0 || !memchr(text, '\0', (size_t)length))
		return -1;
	return fn(arg, entry->d_tag, text);
}

int rh_elf_each_link(int fd, rh_elf_link_fn *fn, void *arg)
{
	struct elf elf = {.fd = fd};
	Elf64_Dyn entry;
	int r = 0;

	if (!elf_find_dynamic(&elf))
		return 0;
	if (!elf_find_texts(&elf))
		return -1;
	for (size_t i = 0; r == 0 && elf_entry(&elf, i, &entry); i++) {
		if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH)
			r = elf_give_text(&elf, &entry, fn, arg);
	}
	return r;
}
