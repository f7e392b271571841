/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "convert/convert.h"
#include "job/manifest.h"

/* One conversion of all files. */
struct converter {
	enum rh_convert_target target;
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

static int convert_job(struct converter *converter, const struct rh_manifest_object *item, struct rh_error *err)
{
	rh_auto_conversion conversion = {0};
	int r = rh_convert(item->object, converter->target, &conversion, err);

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

/* What stands beside jobs, and jobs of the right API, are printed as they are. */
static int convert_copy(struct converter *converter, const struct rh_manifest_object *item, struct rh_error *err)
{
	struct rh_json *copy = rh_json_copy(item->object);

	if (copy)
		convert_unname(item, copy);
	return rh_json_append(converter->objects, copy) < 0 ? rh_fail_oom(err) : 0;
}

static int convert_files(const struct rh_cli *cli, struct converter *converter, struct rh_error *err)
{
	rh_auto_manifest manifest = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < cli->operand_count; i++)
		r = rh_manifest_read(&manifest, cli->operands[i], err);
	for (size_t i = 0; r == 0 && i < manifest.count; i++) {
		const struct rh_manifest_object *item = &manifest.items[i];

		if (rh_convert_is_due(item->object, converter->target))
			r = convert_job(converter, item, err);
		else
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

static int convert_run(const struct rh_cli *cli)
{
	const char *to = rh_cli_option(cli, "to");
	struct converter converter = {.target = convert_target(to ? to : "v1")};
	struct rh_error err = {0};
	int r;

	if (rh_cli_option(cli, "rules"))
		return convert_print_rules(cli);
	if (cli->operand_count == 0)
		return rh_cli_fail(cli, RH_EXIT_BAD_INPUT, "no FILE; give the files with the jobs, or - for standard input");
	converter.objects = rh_json_new_array();
	r = converter.objects ? convert_files(cli, &converter, &err) : rh_fail_oom(&err);
	if (r == 0)
		r = rh_cli_put_objects_out(rh_take(converter.objects), rh_cli_wants_json(cli), &err);
	rh_json_free(converter.objects);
	return r < 0 ? rh_cli_end(cli, r, &err) : convert_finish(cli, &converter);
}

static const struct rh_option convert_options[] = {
	{"to", 't', "API", "v1|mpi-v2beta1|trainjob",
     "the API of the result: kubeflow.org/v1 (default), the MPI Operator's, or Kubeflow Trainer's"},
	{"output", 'o', "FORMAT", "yaml|json", "how to print the objects (default: yaml)"},
	{"strict", 0, NULL, NULL, "end with status 1 if a field is lost"},
	{"rules", 0, NULL, NULL, "print what becomes of each field, as Markdown, and convert nothing"},
	{NULL, 0, NULL, NULL, NULL},
};

const struct rh_command rh_command_convert = {
	.name = "convert",
	.synopsis = "FILE...",
	.summary = "rewrite jobs of older and other APIs",
	.details =
		"Reads TFJob and PyTorchJob of v1alpha1 to v1beta2, MXJob of v1beta1, XGBoostJob of\n"
		"xgboostjob.kubeflow.org, MPIJob of v1alpha1, v1alpha2 and v2beta1, and prints them as jobs of\n"
		"kubeflow.org/v1; with --to mpi-v2beta1 MPIJobs of the MPI Operator, with --to trainjob PyTorchJobs,\n"
		"XGBoostJobs and JAXJobs as TrainJobs of Kubeflow Trainer 2.3, each with a TrainingRuntime of its own. Other\n"
		"objects are printed as they are. Comments of the files are not kept.\n\n"
		"Standard error names each field that is moved, changed, implied (the target does so anyway) or lost, with\n"
		"the consequence. A field that is not of the old API stays where it is: check the result by `roundhouse "
		"lint`.\n"
		"FILE may be - for standard input.\n\n"
		"Exit status: 0 printed, 1 with --strict: a field is lost (the jobs are printed all the same), 2 wrong\n"
		"arguments or files, or a job that cannot be converted.",
	.options = convert_options,
	.operands_min = 0,
	.operands_max = 1000,
	.run = convert_run,
};
