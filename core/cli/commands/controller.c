/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of `roundhouse controller`. What does the work is a program of its own beside this one: it needs libraries
 * for HTTP and TLS that would make every pod of a local run pay for them.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "config/first_fault.h"

static int controller_start(const struct rh_cli *cli)
{
	return rh_cli_start_program(cli, RH_CLI_CONTROLLER, RH_CLI_CONTROLLER, cli->words);
}

static const struct rh_option controller_option_rows[] = {
	{"kubeconfig", 0, "FILE", NULL,
     "how to reach the API server (default: $KUBECONFIG, the pod's service account, ~/.kube/config)"},
	{"context", 0, "NAME", NULL, "context of the kubeconfig (default: its current one)"},
	{"namespace", 0, "NAME", NULL, "serve jobs of this namespace alone (default: $KUBEFLOW_NAMESPACE, or all)"},
	{"enable-scheme", 0, "KIND", NULL, "serve KIND, in any case; may be repeated (default: every kind of the plugins)"},
	{"gang-scheduler-name", 0, "NAME", NULL, "volcano, or the name of a scheduler with the coscheduling plugin"},
	{"kueue", 0, NULL, "true|false", "queue jobs with the label kueue.x-k8s.io/queue-name by Kueue (default false)"},
	{"leader-elect", 0, NULL, "true|false", "work only while holding the Lease (default true)"},
	{"leader-election-id", 0, "NAME", NULL, "name of the Lease (default 1ca428e5.training-operator.kubeflow.org)"},
	{"leader-election-namespace", 0, "NAME", NULL, "its namespace (default: the pod's own)"},
	{"metrics-bind-address", 0, "ADDRESS", NULL, "where /metrics is served; 0: nowhere (default :8080)"},
	{"health-probe-bind-address", 0, "ADDRESS", NULL,
     "where /healthz, /readyz and /debug/state are served; 0: nowhere (default :8081)"},
	{"kube-api-qps", 0, "RATE", NULL, "writes per second to the API server (default: as many as it answers well)"},
	{"kube-api-burst", 0, "COUNT", NULL, "how many writes may be ahead of that rate"},
	{"webhook-server-port", 0, "PORT", NULL,
     "where V1's webhooks are served if there is a certificate; 0: nowhere (default 9443)"},
	{"webhook-cert-dir", 0, "DIR", NULL,
     "tls.crt and tls.key of the webhooks (default /tmp/k8s-webhook-server/serving-certs)"},
	{RH_CONFIG_FIRST_FAULT, 0, "SOURCE", RH_CONFIG_FIRST_FAULT_WORDS,
     "where to learn what a failed container wrote (default status)"},
	{"log-format", 0, "FORMAT", "text|json", "how to write log lines (default text)"},
	{"pytorch-init-container-image", 0, "IMAGE", NULL, "image of the container that waits for the master's name"},
	{"pytorch-init-container-max-tries", 0, "COUNT", NULL, "how often it tries"},
	{"pytorch-init-container-template-file", 0, "FILE", NULL,
     "YAML list of the containers to use in its place, if it can be read"},
	{"mpi-kubectl-delivery-image", 0, "IMAGE", NULL, "image of the container that brings kubectl to an MPI launcher"},
	{"controller-threads", 0, "COUNT", NULL, "of V1, without effect"},
	{"webhook-service-name", 0, "NAME", NULL, "Service that their certificate is made for (default training-operator)"},
	{"webhook-secret-name", 0, "NAME", NULL,
     "Secret that holds it, if there is one (default training-operator-webhook-cert)"},
	{"zap-devel", 0, NULL, "true|false", "of V1: false writes the log as JSON"},
	{"zap-encoder", 0, "FORMAT", "json|console", "of V1: as --log-format"},
	{"zap-log-level", 0, "LEVEL", NULL, "of V1: as --log-level"},
	{"zap-stacktrace-level", 0, "LEVEL", NULL, "of V1, without effect"},
	{"zap-time-encoding", 0, "FORMAT", NULL, "of V1, without effect"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_controller = {
	.name = "controller",
	.synopsis = "",
	.summary = "keep the jobs of a Kubernetes cluster running",
	.details =
		"Watches jobs, pods and Services of an API server, and does what jobs need: the controller of Training "
		"Operator V1\n"
		"with the same resources, names and flags. Flags may have one dash or two. What no flag says stands in the "
		"section\n"
		"[controller] of the configuration, under the flag's name. Log lines go to standard error.\n\n"
		"SIGTERM ends it when the requests in flight are answered, at most 5 s later, and gives the Lease back.\n\n"
		"Exit status: 0 ended by a signal, 1 it could not go on, or has lost the Lease: start it again, 2 wrong "
		"arguments,\n"
		"configuration or kubeconfig.",
	.options = controller_option_rows,
	.go_flags = true,
	.run = controller_start,
};
