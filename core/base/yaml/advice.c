/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/yaml/parts.h"

const char *rh_yaml_advice(const char *problem)
{
	static const char *const rows[][2] = {
		{"mapping values are not allowed in this context",
	     "; indent this line as its neighbours, or quote a text that has \": \" in it"},
		{"did not find expected key", "; indent this line as its neighbours"},
		{"did not find expected '-' indicator", "; indent this line as its neighbours"},
		{"could not find expected ':'", "; put \": \" behind the name of a field"},
		{"found character that cannot start any token", "; quote the text"},
		{"did not find expected ',' or ']'", "; close the list with ]"},
		{"did not find expected ',' or '}'", "; close the map with }"},
		{"found unexpected end of stream", "; close the quotes"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i][0], problem) == 0)
			return rows[i][1];
	}
	return "";
}
