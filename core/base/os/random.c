/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/random.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "base/os/clock.h"

uint64_t rh_random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

uint64_t rh_random_below(uint64_t *state, uint64_t below)
{
	return rh_random_next(state) % below;
}

void rh_random_of_process(uint64_t ret_words[2])
{
	const void *bytes = (const void *)(uintptr_t)getauxval(AT_RANDOM);

	if (bytes) {
		memcpy(ret_words, bytes, 2 * sizeof(*ret_words));
	} else {
		ret_words[0] = rh_random_seed();
		ret_words[1] = rh_random_seed();
	}
}

uint64_t rh_random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		return seed;
	return (uint64_t)rh_clock_monotonic();
}

bool rh_random_secret(uint8_t *bytes, size_t size)
{
	return getrandom(bytes, size, GRND_NONBLOCK) == (ssize_t)size;
}
