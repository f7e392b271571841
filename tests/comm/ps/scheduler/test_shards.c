/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/scheduler/shards.h"

/* A shard whose replica 0 is the primary, and whose replica 1 has all values. */
static struct rh_ps_shard make_whole(void)
{
	struct rh_ps_shard shard;

	rh_ps_shard_init(&shard);
	rh_ps_shard_come(&shard, 0);
	assert_int_equal(shard.primary, 0);
	assert_int_equal(rh_ps_shard_peer(&shard), RH_PS_NO_REPLICA);
	rh_ps_shard_come(&shard, 1);
	assert_int_equal(shard.primary, 0);
	assert_int_equal(rh_ps_shard_peer(&shard), 1);
	assert_true(rh_ps_shard_sync(&shard, 0, shard.term));
	shard.due = false;
	return shard;
}

static void test_shards__a_backup_that_has_all_takes_over(void **state)
{
	struct rh_ps_shard shard = make_whole();

	(void)state;
	assert_true(rh_ps_shard_lose(&shard, 0, true));
	assert_int_equal(shard.primary, 1);
	assert_true(shard.due);
	assert_int_equal(rh_ps_shard_peer(&shard), RH_PS_NO_REPLICA);
	/* the one that comes back copies from it */
	rh_ps_shard_come(&shard, 0);
	assert_int_equal(shard.primary, 1);
	assert_int_equal(rh_ps_shard_peer(&shard), 0);
	/* and does not take over before it has all */
	assert_false(rh_ps_shard_lose(&shard, 1, true));
	assert_int_equal(shard.primary, RH_PS_NO_REPLICA);
}

static void test_shards__a_lost_backup_is_no_choice_any_more(void **state)
{
	struct rh_ps_shard shard = make_whole();
	uint64_t term = shard.term;

	(void)state;
	/* the connection between the two broke: the primary may go on alone, so the backup may not take over */
	rh_ps_shard_part(&shard, 0, term);
	assert_true(shard.due);
	assert_int_equal(shard.term, term + 1);
	assert_int_equal(rh_ps_shard_peer(&shard), 1);
	/* what was reported about an earlier decision does not count */
	assert_false(rh_ps_shard_sync(&shard, 0, term));
	assert_false(rh_ps_shard_lose(&shard, 0, true));
	assert_int_equal(shard.primary, RH_PS_NO_REPLICA);
}

static void test_shards__who_is_replaced_decides_nothing(void **state)
{
	struct rh_ps_shard shard = make_whole();
	uint64_t term;

	(void)state;
	assert_true(rh_ps_shard_lose(&shard, 0, true));
	term = shard.term;
	rh_ps_shard_part(&shard, 0, term);
	assert_false(rh_ps_shard_sync(&shard, 0, term));
	assert_int_equal(shard.term, term);
	assert_false(rh_ps_shard_lose(&shard, 0, true));
	assert_int_equal(shard.primary, 1);
}

static void test_shards__the_loss_of_a_backup_is_reported_to_the_primary(void **state)
{
	struct rh_ps_shard shard = make_whole();

	(void)state;
	assert_false(rh_ps_shard_lose(&shard, 1, true));
	assert_int_equal(shard.primary, 0);
	assert_true(shard.due);
	assert_int_equal(rh_ps_shard_peer(&shard), RH_PS_NO_REPLICA);
}

static void test_shards__before_the_job_begins_any_server_will_do(void **state)
{
	struct rh_ps_shard shard;

	(void)state;
	rh_ps_shard_init(&shard);
	rh_ps_shard_come(&shard, 0);
	rh_ps_shard_come(&shard, 1);
	assert_true(rh_ps_shard_lose(&shard, 0, false));
	assert_int_equal(shard.primary, 1);
	assert_false(rh_ps_shard_lose(&shard, 1, false));
	rh_ps_shard_come(&shard, 0);
	assert_int_equal(shard.primary, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shards__a_backup_that_has_all_takes_over),
		cmocka_unit_test(test_shards__a_lost_backup_is_no_choice_any_more),
		cmocka_unit_test(test_shards__who_is_replaced_decides_nothing),
		cmocka_unit_test(test_shards__the_loss_of_a_backup_is_reported_to_the_primary),
		cmocka_unit_test(test_shards__before_the_job_begins_any_server_will_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
