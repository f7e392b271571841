/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/convert.h"
#include "cli/output.h"

/* One conversion of all objects. */
struct converter {
	enum rh_convert_target target;
	const struct rh_manifest *manifest;
	struct rh_json *objects; /* an array, in the order of the files */
	size_t converted;
	bool lossy;
};

static void convert_print_note(const struct rh_manifest_object *item, const struct rh_json *note)
{
	const char *to = rh_json_string_at(note, "to");
	const char *detail = rh_json_string_at(note, "detail");

	fprintf(stderr, "%s: %s %s: %s: %s%s%s%s%s\n", item->source, rh_json_string_at(item->object, "kind"),
	        rh_json_string_at(item->object, item->named ? "metadata.generateName" : "metadata.name"),
	        rh_json_string_at(note, "effect"), rh_json_string_at(note, "path"), to ? " to " : "", to ? to : "",
	        detail ? ": " : "", detail ? detail : "");
}

/* A name that was made from metadata.generateName is not the file's. */
static void convert_unname(const struct rh_manifest_object *item, struct rh_json *object)
{
	if (item->named)
		rh_json_remove(rh_json_get(object, "metadata"), "name");
}

/* The runtime of a TrainJob has to be among the objects. @param ret_runtime borrowed; NULL: the job is none */
static int convert_find_runtime(const struct converter *converter, const struct rh_json *job,
                                const struct rh_json **ret_runtime, struct rh_error *err)
{
	struct rh_convert_reference runtime;
	int r;

	*ret_runtime = NULL;
	if (!rh_convert_needs_runtime(job))
		return 0;
	r = rh_convert_runtime_of(job, &runtime, err);
	if (r < 0)
		return r;
	*ret_runtime = rh_manifest_find(converter->manifest, runtime.kind,
	                                runtime.namespace_ ? runtime.namespace_ : "default", runtime.name);
	if (*ret_runtime)
		return 0;
	return rh_fail(err, RH_EINVAL,
	               "spec.runtimeRef: no %s \"%s\" among the files; add what `kubectl get %s %s -o yaml` prints",
	               runtime.kind, runtime.name, runtime.kind, runtime.name);
}

static int convert_job(struct converter *converter, const struct rh_manifest_object *item, struct rh_error *err)
{
	rh_auto_conversion conversion = {0};
	const struct rh_json *runtime;
	int r = convert_find_runtime(converter, item->object, &runtime, err);

	if (r == 0)
		r = rh_convert(item->object, runtime, converter->target, &conversion, err);
	if (r < 0)
		return rh_wrap(err, r, "%s", item->source);
	for (const struct rh_json *note = rh_json_first(conversion.notes); note; note = rh_json_next(note))
		convert_print_note(item, note);
	convert_unname(item, conversion.object);
	converter->converted++;
	converter->lossy |= conversion.lossy;
	if (conversion.runtime && rh_json_append(converter->objects, rh_take(conversion.runtime)) < 0)
		return rh_fail_oom(err);
	return rh_json_append(converter->objects, rh_take(conversion.object)) < 0 ? rh_fail_oom(err) : 0;
}

/* Without TrainJobs a runtime is of no use. */
static bool convert_is_used_up(const struct converter *converter, const struct rh_json *object)
{
	struct rh_convert_reference runtime;

	for (size_t i = 0; converter->target != RH_CONVERT_TRAINJOB && i < converter->manifest->count; i++) {
		const struct rh_json *job = converter->manifest->items[i].object;

		if (rh_convert_needs_runtime(job) && rh_convert_runtime_of(job, &runtime, NULL) == 0 &&
		    object == rh_manifest_find(converter->manifest, runtime.kind,
		                               runtime.namespace_ ? runtime.namespace_ : "default", runtime.name))
			return true;
	}
	return false;
}

/* What stands beside jobs, and jobs of the right API, are printed as they are. */
static int convert_copy(struct converter *converter, const struct rh_manifest_object *item, struct rh_error *err)
{
	struct rh_json *copy = rh_json_copy(item->object);

	if (copy)
		convert_unname(item, copy);
	return rh_json_append(converter->objects, copy) < 0 ? rh_fail_oom(err) : 0;
}

static int convert_all(struct converter *converter, struct rh_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < converter->manifest->count; i++) {
		const struct rh_manifest_object *item = &converter->manifest->items[i];

		if (rh_convert_is_due(item->object, converter->target))
			r = convert_job(converter, item, err);
		else if (!convert_is_used_up(converter, item->object))
			r = convert_copy(converter, item, err);
	}
	return r;
}

static int convert_print_rules(const struct rh_cli *cli)
{
	rh_auto_str out = {0};

	if (rh_convert_print_tables(&out) < 0)
		return rh_cli_fail(cli, RH_EXIT_FAILED, "out of memory");
	rh_cli_print(&out);
	return RH_EXIT_OK;
}

static int convert_finish(const struct rh_cli *cli, const struct converter *converter)
{
	if (converter->converted == 0)
		fputs("roundhouse convert: no job needed a conversion\n", stderr);
	if (converter->lossy && rh_cli_option(cli, "strict"))
		return rh_cli_fail(cli, RH_EXIT_FAILED, "fields are lost, see above (--strict)");
	return RH_EXIT_OK;
}

/* The words were checked when the command line was parsed. */
static enum rh_convert_target convert_target(const char *word)
{
	if (strcmp(word, "trainjob") == 0)
		return RH_CONVERT_TRAINJOB;
	return strcmp(word, "mpi-v2beta1") == 0 ? RH_CONVERT_MPI2 : RH_CONVERT_V1;
}

int rh_convert_main(const struct rh_cli *cli, rh_convert_fetch_fn *fetch)
{
	const char *to = rh_cli_option(cli, "to");
	rh_auto_manifest manifest = {0};
	struct converter converter = {.target = convert_target(to ? to : "v1"), .manifest = &manifest};
	struct rh_error err = {0};
	int r = fetch(cli, converter.target, &manifest, &err);

	converter.objects = rh_json_new_array();
	if (r == 0)
		r = converter.objects ? convert_all(&converter, &err) : rh_fail_oom(&err);
	if (r == 0)
		r = rh_cli_put_objects_out(rh_take(converter.objects), rh_cli_wants_json(cli), &err);
	rh_json_free(converter.objects);
	return r < 0 ? rh_cli_end(cli, r, &err) : convert_finish(cli, &converter);
}

/* @return what is wrong with the words, or NULL */
static const char *convert_check(const struct rh_cli *cli)
{
	static const char *const cluster[] = {"all", "namespace", "kubeconfig", "context"};

	for (size_t i = 0; !rh_cli_option(cli, "cluster") && i < sizeof(cluster) / sizeof(cluster[0]); i++)
		if (rh_cli_option(cli, cluster[i]))
			return "--all, --namespace, --kubeconfig and --context are for --cluster";
	if (!rh_cli_option(cli, "cluster"))
		return cli->operand_count == 0 ? "no FILE; give the files with the jobs, or - for standard input" : NULL;
	if (!rh_cli_option(cli, "all") && cli->operand_count == 0)
		return "which jobs of the cluster? give KIND/NAME, or --all for all of the namespace";
	return rh_cli_option(cli, "all") && cli->operand_count > 0 ? "give either KIND/NAME or --all" : NULL;
}

static int convert_files(const struct rh_cli *cli, enum rh_convert_target target, struct rh_manifest *manifest,
                         struct rh_error *err)
{
	int r = 0;

	(void)target;
	for (size_t i = 0; r == 0 && i < cli->operand_count; i++)
		r = rh_manifest_read(manifest, cli->operands[i], err);
	return r;
}

static int convert_run(const struct rh_cli *cli)
{
	const char *wrong = convert_check(cli);

	if (rh_cli_option(cli, "rules"))
		return convert_print_rules(cli);
	if (wrong)
		return rh_cli_fail(cli, RH_EXIT_BAD_INPUT, wrong);
	if (rh_cli_option(cli, "cluster"))
		return rh_cli_start_again(cli, RH_CLI_CONTROLLER, RH_CONVERT_PROGRAM);
	return rh_convert_main(cli, convert_files);
}

static const struct rh_option convert_options[] = {
	{"to", 't', "API", "v1|mpi-v2beta1|trainjob",
     "the API of the result: kubeflow.org/v1 (default), the MPI Operator's, or Kubeflow Trainer's"},
	{"output", 'o', "FORMAT", "yaml|json", "how to print the objects (default: yaml)"},
	{"strict", 0, NULL, NULL, "end with status 1 if a field is lost"},
	{"rules", 0, NULL, NULL, "print what becomes of each field, as Markdown, and convert nothing"},
	{"cluster", 0, NULL, NULL, "read jobs from a cluster; nothing there is changed"},
	{"all", 0, NULL, NULL, "with --cluster: all jobs of the namespace that can be converted"},
	{"namespace", 'n', "NAMESPACE", NULL, "with --cluster: where the jobs are (default: that of the context)"},
	{"kubeconfig", 0, "FILE", NULL, "with --cluster: which cluster (default: as kubectl)"},
	{"context", 0, "NAME", NULL, "with --cluster: which context of it"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_convert = {
	.name = "convert",
	.synopsis = "FILE...|KIND/NAME...",
	.summary = "rewrite jobs of older and other APIs",
	.details =
		"Reads TFJob and PyTorchJob of v1alpha1 to v1beta2, MXJob of v1beta1, XGBoostJob of\n"
		"xgboostjob.kubeflow.org, MPIJob of v1alpha1, v1alpha2 and v2beta1, and TrainJob of Kubeflow Trainer with the\n"
		"runtimes that they refer to, and prints them as jobs of kubeflow.org/v1; with --to mpi-v2beta1 MPIJobs of "
		"the\n"
		"MPI Operator, with --to trainjob TrainJobs of Kubeflow Trainer 2.3, each with a TrainingRuntime of its own.\n"
		"Other objects are printed as they are. Comments of the files are not kept.\n\n"
		"Standard error names each field that is moved, changed, implied (the target does so anyway) or lost, with\n"
		"the consequence. A field that is not of the old API stays where it is: check the result by `roundhouse "
		"lint`.\n"
		"FILE may be - for standard input.\n\n"
		"With --cluster the jobs are read from a cluster, and runtimes with them: KIND/NAME as kubectl takes it\n"
		"(pytorchjob/mnist), or --all. What the server has added to an object is left out.\n\n"
		"Exit status: 0 printed, 1 with --strict: a field is lost (the jobs are printed all the same), or the cluster\n"
		"could not be read, 2 wrong arguments or files, or a job that cannot be converted.",
	.options = convert_options,
	.operands_min = 0,
	.operands_max = 1000,
	.run = convert_run,
};
