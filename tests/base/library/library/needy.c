/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object that needs libbrought.so, and has some RUNPATH or RPATH. */
int brought_value(void);
int needy_value(void);

__attribute__((visibility("default"))) int needy_value(void)
{
	return brought_value();
}
