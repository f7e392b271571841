/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/memory/symbols.h"

#include <dlfcn.h>
#include <stdlib.h>

void *rh_comm_symbols_open(const char *own, const char *const *names)
{
	void *library = NULL;

	if (own && own[0])
		return dlopen(own, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	for (size_t i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

void *rh_comm_symbols_open_cuda(void)
{
	static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so",
	                                    NULL};

	return rh_comm_symbols_open(getenv("RH_COMM_CUDART"), names);
}

const char *rh_comm_symbols_find(void *library, const struct rh_comm_symbol *symbols, size_t count, void *table)
{
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address)
			return symbols[i].name;
		*(void **)(void *)((char *)table + symbols[i].offset) = address;
	}
	return NULL;
}
