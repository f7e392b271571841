/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of NCCL's ncclras, text or JSON. */
#include <string.h>

#include "comm/bench/trace/foreign/ras.h"
#include "fuzz.h"
#include "roundhouse/comm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rh_ras ras;
	char why[300] = "";
	int32_t r = rh_ras_read((const char *)data, size, &ras, why, sizeof(why));

	(void)rh_ras_is((const char *)data, size);
	fuzz_require(r == 0 || r == RH_COMM_EINVAL || r == RH_COMM_ENOMEM);
	fuzz_require((r == 0) == (why[0] == '\0'));
	for (size_t i = 0; i < ras.count; i++) {
		const struct rh_ras_finding *item = &ras.items[i];

		fuzz_require(item->count >= 0 && item->count <= RH_RAS_RANKS);
		fuzz_require(item->kind != RH_RAS_MISSING || item->number < item->most);
		fuzz_require(memchr(item->places, '\0', sizeof(item->places)) != NULL);
	}
	rh_ras_deinit(&ras);
	return 0;
}
