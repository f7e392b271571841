/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/ps/server/store.h"

/* Constants of one step, the same for all elements. */
struct rule_step {
	double scale; /* of a push, to make it a mean */
	double rate;
	double momentum;
	double beta1;
	double beta2;
	double epsilon;
	double correct1; /* 1 / (1 - beta1^t) */
	double correct2;
};

int32_t rh_ps_rule_slots(int32_t rule)
{
	if (rule == RH_PS_ADAM)
		return 2;
	return rule == RH_PS_MOMENTUM || rule == RH_PS_ADAGRAD ? 1 : 0;
}

/* @return where the elements of a change begin in an array that the rule has */
static uint8_t *rule_at(uint8_t *array, const struct rh_ps_change *change)
{
	return array + change->first * rh_comm_type_size(change->entry->type);
}

/*
 * The rules of optimizers for one type. What a rule reads and writes does not overlap.
 */
#define RULES(name, type, root)                                                                            \
	static void rule_sgd_##name(type *value, const type *push, size_t count, const struct rule_step *step) \
	{                                                                                                      \
		type by = (type)(step->rate * step->scale);                                                        \
                                                                                                           \
		_Pragma("GCC ivdep") for (size_t i = 0; i < count; i++) value[i] -= by * push[i];                  \
	}                                                                                                      \
	static void rule_momentum_##name(type *value, const type *push, type *mean, size_t count,              \
	                                 const struct rule_step *step)                                         \
	{                                                                                                      \
		type scale = (type)step->scale;                                                                    \
		type keep = (type)step->momentum;                                                                  \
		type rate = (type)step->rate;                                                                      \
                                                                                                           \
		_Pragma("GCC ivdep") for (size_t i = 0; i < count; i++)                                            \
		{                                                                                                  \
			mean[i] = keep * mean[i] + scale * push[i];                                                    \
			value[i] -= rate * mean[i];                                                                    \
		}                                                                                                  \
	}                                                                                                      \
	static void rule_adagrad_##name(type *value, const type *push, type *square, size_t count,             \
	                                const struct rule_step *step)                                          \
	{                                                                                                      \
		_Pragma("GCC ivdep") for (size_t i = 0; i < count; i++)                                            \
		{                                                                                                  \
			type g = (type)step->scale * push[i];                                                          \
                                                                                                           \
			square[i] += g * g;                                                                            \
			value[i] -= (type)step->rate * g / (root(square[i]) + (type)step->epsilon);                    \
		}                                                                                                  \
	}                                                                                                      \
	static void rule_adam_##name(type *value, const type *push, type **slots, size_t count,                \
	                             const struct rule_step *step)                                             \
	{                                                                                                      \
		type *mean = slots[0];                                                                             \
		type *square = slots[1];                                                                           \
		type keep1 = (type)step->beta1;                                                                    \
		type keep2 = (type)step->beta2;                                                                    \
		type new1 = (type)(1 - step->beta1);                                                               \
		type new2 = (type)(1 - step->beta2);                                                               \
		type rate = (type)(step->rate * step->correct1);                                                   \
		type correct = (type)step->correct2;                                                               \
                                                                                                           \
		_Pragma("GCC ivdep") for (size_t i = 0; i < count; i++)                                            \
		{                                                                                                  \
			type g = (type)step->scale * push[i];                                                          \
                                                                                                           \
			mean[i] = keep1 * mean[i] + new1 * g;                                                          \
			square[i] = keep2 * square[i] + new2 * g * g;                                                  \
			value[i] -= rate * mean[i] / (root(square[i] * correct) + (type)step->epsilon);                \
		}                                                                                                  \
	}                                                                                                      \
	static void rule_learn_##name(const struct rh_ps_change *change, const struct rule_step *step)         \
	{                                                                                                      \
		struct rh_ps_entry *entry = change->entry;                                                         \
		const type *push = (const type *)change->data;                                                     \
		type *value = (type *)rule_at(entry->value, change);                                               \
		type *slots[2];                                                                                    \
                                                                                                           \
		if (change->config->rule == RH_PS_SGD) {                                                           \
			rule_sgd_##name(value, push, change->count, step);                                             \
			return;                                                                                        \
		}                                                                                                  \
		slots[0] = (type *)rule_at(entry->slots[0], change);                                               \
		if (change->config->rule == RH_PS_MOMENTUM) {                                                      \
			rule_momentum_##name(value, push, slots[0], change->count, step);                              \
		} else if (change->config->rule == RH_PS_ADAGRAD) {                                                \
			rule_adagrad_##name(value, push, slots[0], change->count, step);                               \
		} else {                                                                                           \
			slots[1] = (type *)rule_at(entry->slots[1], change);                                           \
			rule_adam_##name(value, push, slots, change->count, step);                                     \
		}                                                                                                  \
	}

RULES(f32, float, sqrtf)
RULES(f64, double, sqrt)

static void rule_learn(const struct rh_ps_change *change)
{
	const struct rh_ps_config *config = change->config;
	double steps = (double)change->steps;
	struct rule_step step = {
		.scale = 1.0 / change->divisor,
		.rate = change->rate,
		.momentum = config->momentum,
		.beta1 = config->beta1,
		.beta2 = config->beta2,
		.epsilon = config->epsilon,
		.correct1 = 1 / (1 - pow(config->beta1, steps)),
		.correct2 = 1 / (1 - pow(config->beta2, steps)),
	};

	if (change->entry->type == RH_COMM_F32)
		rule_learn_f32(change, &step);
	else
		rule_learn_f64(change, &step);
}

/* Sums and means, of every type. */
static void rule_add(const struct rh_ps_change *change, int32_t divisor, bool replaces)
{
	int32_t type = change->entry->type;
	size_t bytes = change->count * rh_comm_type_size(type);
	uint8_t *value = rule_at(change->entry->value, change);
	const uint8_t *data = change->data;

	if (replaces) {
		memcpy(value, data, bytes);
		if (divisor > 1)
			rh_comm_divide(value, change->count, type, divisor);
		return;
	}
	if (divisor > 1) {
		memcpy(change->scratch, data, bytes);
		rh_comm_divide(change->scratch, change->count, type, divisor);
		data = change->scratch;
	}
	rh_comm_reduce(value, value, data, change->count, type, RH_COMM_SUM);
}

void rh_ps_rule_apply(const struct rh_ps_change *change)
{
	int32_t workers = change->config->workers;

	if (change->count == 0)
		return;
	switch (change->config->rule) {
	case RH_PS_SUM:
		rule_add(change, 1, false);
		break;
	case RH_PS_AVERAGE:
		rule_add(change, workers, false);
		break;
	case RH_PS_TOTAL:
		rule_add(change, 1, true);
		break;
	case RH_PS_MEAN:
		rule_add(change, workers, true);
		break;
	default:
		rule_learn(change);
		break;
	}
}
