/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/limit.h"

#include <sys/resource.h>

void rh_limit_lower(int resource, uint64_t most)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0 || limit.rlim_max < most)
		return;
	limit.rlim_cur = limit.rlim_max = most;
	(void)setrlimit((__rlimit_resource_t)resource, &limit);
}
