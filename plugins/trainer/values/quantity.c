/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities, in thousandths: minResources needs no finer ones. */
#include "quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUANTITY_MILLI INT64_C(1000)

/** A suffix, and how many thousandths it stands for. */
struct quantity_suffix {
	const char *text;
	int64_t milli;
	bool binary;
};

/* from the largest: that is the order for printing */
static const struct quantity_suffix quantity_suffixes[] = {
	{"Pi", QUANTITY_MILLI << 50, true}, {"P", QUANTITY_MILLI * 1000000000000000, false},
	{"Ti", QUANTITY_MILLI << 40, true}, {"T", QUANTITY_MILLI * 1000000000000, false},
	{"Gi", QUANTITY_MILLI << 30, true}, {"G", QUANTITY_MILLI * 1000000000, false},
	{"Mi", QUANTITY_MILLI << 20, true}, {"M", QUANTITY_MILLI * 1000000, false},
	{"Ki", QUANTITY_MILLI << 10, true}, {"k", QUANTITY_MILLI * 1000, false},
	{"", QUANTITY_MILLI, false},        {"m", 1, false},
};

#define QUANTITY_SUFFIXES (sizeof(quantity_suffixes) / sizeof(quantity_suffixes[0]))

bool quantity_read(const char *text, struct quantity *ret_quantity)
{
	char *end;
	const double number = strtod(text, &end);

	for (size_t i = 0; i < QUANTITY_SUFFIXES && end != text; i++) {
		const struct quantity_suffix *suffix = &quantity_suffixes[i];
		const double milli = number * (double)suffix->milli;

		if (strcmp(end, suffix->text) != 0)
			continue;
		if (!(milli >= 0 && milli < (double)INT64_MAX))
			return false;
		*ret_quantity = (struct quantity){(int64_t)(milli + 0.5), suffix->binary};
		return true;
	}
	return false;
}

void quantity_print(const struct quantity *quantity, char ret_text[QUANTITY_TEXT])
{
	const int64_t milli = quantity->milli;

	for (size_t i = 0; i < QUANTITY_SUFFIXES; i++) {
		const struct quantity_suffix *suffix = &quantity_suffixes[i];
		const bool fits = suffix->binary == quantity->binary || suffix->milli <= QUANTITY_MILLI;

		if (!fits || milli % suffix->milli != 0 || (milli == 0 && suffix->milli != QUANTITY_MILLI))
			continue;
		snprintf(ret_text, QUANTITY_TEXT, "%" PRId64 "%s", milli / suffix->milli, suffix->text);
		return;
	}
}
