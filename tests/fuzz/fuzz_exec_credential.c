/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever an exec plugin writes: it is a credential that fits into a header, or refused by the user's field. */
#include <string.h>

#include "base/str.h"
#include "fuzz.h"
#include "kube/auth/exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], clusters: "
							   "[{name: k, cluster: {server: "
							   "'https://a'}}], users: [{name: u, user: {exec: {apiVersion: "
							   "client.authentication.k8s.io/v1beta1, command: a}}}]}";
	struct rh_auth_answer answer = {0};
	rh_auto(kubeconfig) config = NULL;
	struct rh_error err = {0};
	int r;

	fuzz_require(rh_kubeconfig_parse("f", text, strlen(text), NULL, &config, NULL) == 0);
	r = rh_auth_answer_parse(config, (const char *)data, size, &answer, &err);
	fuzz_require(r == 0 || (r == err.code && rh_starts_with(err.message, "f: users[0].user.exec")));
	fuzz_require(r == 0 || (!answer.token && !answer.certificate && !answer.key));
	if (r < 0)
		return 0;
	fuzz_require(answer.token || answer.certificate);
	fuzz_require(!answer.certificate == !answer.key);
	fuzz_require(!answer.token || !strpbrk(answer.token, " \t\r\n"));
	rh_auth_answer_deinit(&answer);
	return 0;
}
