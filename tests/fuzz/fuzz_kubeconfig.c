/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a kubeconfig says: it is read, or refused with the file's name; what was read can be used. */
#include <string.h>

#include "base/str.h"
#include "fuzz.h"
#include "kube/auth/exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *const environment[] = {NULL};
	struct rh_auth_command command = {0};
	rh_auto(kubeconfig) config = NULL;
	struct rh_error err = {0};
	int r = rh_kubeconfig_parse("dir/file", (const char *)data, size, NULL, &config, &err);

	fuzz_require((r == 0) == (config != NULL));
	fuzz_require(r == 0 || (r == err.code && rh_starts_with(err.message, "dir/file: ")));
	if (r < 0)
		return 0;
	fuzz_require(config->server && config->cluster_at && config->user_at);
	fuzz_require(rh_starts_with(config->server, "http"));
	fuzz_require(!config->token || !strpbrk(config->token, "\r\n"));
	if (config->exec) {
		fuzz_require(rh_auth_command_init(&command, config, false, environment) == 0);
		fuzz_require(command.argv[0] && command.argv[0][0] != '\0');
		rh_auth_command_deinit(&command);
	}
	return 0;
}
