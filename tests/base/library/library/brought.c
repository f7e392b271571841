/* SPDX-License-Identifier: Apache-2.0 */
/* A library that a shared object brings along. */
int brought_value(void);

__attribute__((visibility("default"))) int brought_value(void)
{
	return 42;
}
