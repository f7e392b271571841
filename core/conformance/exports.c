/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/exports.h"

#include <elf.h>
#include <string.h>

/** Symbols that are listed. */
#define EXPORTS_LISTED 6

/** Symbols that linkers define. */
static const char exports_of_linkers[] = "_init|_fini|_edata|_end|__bss_start|_etext|__end__";

/** A part of a file that lies within it. */
struct exports_part {
	const char *bytes;
	size_t length;
};

static struct exports_part exports_part(const char *file, size_t length, uint64_t offset, uint64_t size)
{
	if (offset > length || size > length - offset)
		return (struct exports_part){NULL, 0};
	return (struct exports_part){file + offset, (size_t)size};
}

/** Find the section with the dynamic symbols. @return whether there is one */
static bool exports_find(const char *file, size_t length, const Elf64_Ehdr *head, Elf64_Shdr *ret_symbols,
                         Elf64_Shdr *ret_names)
{
	struct exports_part table = exports_part(file, length, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr));

	if (!table.bytes || head->e_shentsize != sizeof(Elf64_Shdr))
		return false;
	for (size_t i = 0; i < head->e_shnum; i++) {
		memcpy(ret_symbols, table.bytes + i * sizeof(Elf64_Shdr), sizeof(*ret_symbols));
		if (ret_symbols->sh_type != SHT_DYNSYM || ret_symbols->sh_link >= head->e_shnum)
			continue;
		memcpy(ret_names, table.bytes + ret_symbols->sh_link * sizeof(Elf64_Shdr), sizeof(*ret_names));
		return true;
	}
	return false;
}

static bool exports_is_export(const Elf64_Sym *symbol)
{
	unsigned bind = ELF64_ST_BIND(symbol->st_info), visibility = ELF64_ST_VISIBILITY(symbol->st_other);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE && bind != STB_LOCAL &&
	       (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

size_t rh_exports(const char *file, size_t length, const char *expected, struct rh_str *ret_names)
{
	Elf64_Ehdr head;
	Elf64_Shdr symbols, strings;
	struct exports_part table, names;
	size_t count = 0;

	if (length < sizeof(head) || memcmp(file, ELFMAG, SELFMAG) != 0 || file[EI_CLASS] != ELFCLASS64)
		return 0;
	memcpy(&head, file, sizeof(head));
	if (!exports_find(file, length, &head, &symbols, &strings))
		return 0;
	table = exports_part(file, length, symbols.sh_offset, symbols.sh_size);
	names = exports_part(file, length, strings.sh_offset, strings.sh_size);
	for (size_t i = 0; i + sizeof(Elf64_Sym) <= table.length; i += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;
		const char *name;

		memcpy(&symbol, table.bytes + i, sizeof(symbol));
		if (!exports_is_export(&symbol) || symbol.st_name >= names.length ||
		    !memchr(names.bytes + symbol.st_name, '\0', names.length - symbol.st_name))
			continue;
		name = names.bytes + symbol.st_name;
		if (strcmp(name, expected) == 0 || rh_words_have(exports_of_linkers, '|', name, strlen(name)))
			continue;
		if (count++ < EXPORTS_LISTED)
			rh_str_appendf(ret_names, "%s%.80s", count > 1 ? ", " : "", name);
	}
	return count;
}
