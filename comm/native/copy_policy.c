/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How chunks for other ranks are written: with cached or with non-temporal stores. Where ranks share a last-level cache
 * the first is up to twice as fast, where they do not the second one is up to seven times; no system reports which case
 * it is, and a virtual machine changes it while it runs. So one rank of a host tries now and then what the other way
 * takes, for each class of sizes. The bytes are the same either way.
 */
#include "comm/native/copy_policy.h"

/* Operations of a trial; of the first one the others may not know yet. */
#define TRIAL 3
/* Operations before the first trial, and between two; each that is lost doubles them. */
#define INTERVAL_FIRST 4
#define INTERVAL_MIN 8
#define INTERVAL_MAX 1024
/* A trial is won with less than so much of the other's time, and given up at so much. */
#define WON 0.9
#define HOPELESS 2.0
/* So many operations in a row that take so much longer than the best ones: something has changed. */
#define SLOW 1.5
#define SLOW_ROW 4
/* What was best is forgotten a little with each operation. */
#define FORGET 1.02

uint32_t native_copy_class(size_t bytes)
{
	uint32_t class = bytes == 0 ? 0 : 63 - (uint32_t)__builtin_clzll(bytes);

	return class < NATIVE_COPY_CLASSES ? class : NATIVE_COPY_CLASSES - 1;
}

bool native_copy_policy_choose(struct native_copy_policy *policy, size_t bytes)
{
	struct native_copy_class *class = &policy->classes[native_copy_class(bytes)];

	if (class->interval == 0) {
		class->interval = INTERVAL_FIRST;
		class->cached = policy->latest;
	}
	if (class->trial == 0 && class->count >= class->interval) {
		class->trial = TRIAL;
		class->tried = 0;
	}
	return class->trial > 0 ? !class->cached : class->cached;
}

static void copy_policy_update_current(struct native_copy_class *class, double cost)
{
	class->count++;
	class->slow = class->best > 0 && cost > SLOW * class->best ? class->slow + 1 : 0;
	if (class->slow == SLOW_ROW) {
		class->slow = 0;
		class->best = cost;
		class->interval = INTERVAL_MIN;
		class->count = INTERVAL_MIN;
	}
	class->best = class->best > 0 && class->best * FORGET < cost ? class->best * FORGET : cost;
}

static void copy_policy_end_trial(struct native_copy_policy *policy, struct native_copy_class *class)
{
	class->trial = 0;
	class->count = 0;
	if (class->tried < WON * class->best) {
		class->cached = !class->cached;
		class->best = class->tried;
		class->interval = INTERVAL_MIN;
	} else if (class->interval < INTERVAL_MAX) {
		class->interval *= 2;
	}
	policy->latest = class->cached;
}

void native_copy_policy_update(struct native_copy_policy *policy, size_t bytes, int64_t time)
{
	struct native_copy_class *class = &policy->classes[native_copy_class(bytes)];
	double cost = (double)time / (double)bytes;

	if (class->trial == 0) {
		copy_policy_update_current(class, cost);
		return;
	}
	class->tried = class->tried > 0 && class->tried < cost ? class->tried : cost;
	class->trial--;
	if (class->trial == 0 || (class->trial < TRIAL - 1 && cost > HOPELESS * class->best))
		copy_policy_end_trial(policy, class);
}
