/* SPDX-License-Identifier: Apache-2.0 */
/* torchtune: the command of the runtime is a pattern, of which recipe and configuration follow from the job. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trainer.h"

/** The one model that has a recipe for several nodes. */
#define TUNE_MULTINODE "llama3_3/70B"

/** What the job asks for. */
struct tune {
	int64_t nodes;
	int64_t processes; /**< of one node */
	bool lora;
	bool quantized;
};

static const char *const tune_managed[] = {"output_dir", "tokenizer.path", "tokenizer.merges_file",
                                           "checkpointer.checkpoint_dir"};

/** @return which configuration of the runtime an argument sets, borrowed; NULL: none */
static const char *tune_find_managed(const char *argument)
{
	for (size_t i = 0; i < sizeof(tune_managed) / sizeof(tune_managed[0]); i++) {
		size_t length = strlen(tune_managed[i]);

		if (strncmp(argument, tune_managed[i], length) == 0 && argument[length] == '=')
			return tune_managed[i];
	}
	return NULL;
}

bool trainer_tunes(const struct trainer_call *call)
{
	const char *first = call->host->text(call->view, "spec.trainer.command[0]");
	const char *second = call->host->text(call->view, "spec.trainer.command[1]");

	return trainer_policy(call) == TRAINER_TORCH && call->host->size(call->view, "spec.trainer.command") == 2 &&
	       strcmp(first ? first : "", "tune") == 0 && strcmp(second ? second : "", "run") == 0;
}

/** @return word @p index of the command that the runtime's container node has, borrowed; NULL after the last */
static const char *tune_word(const struct trainer_call *call, int32_t index)
{
	const char *job = trainer_ancestor(call, "trainer");
	const int32_t place = job ? trainer_job(call, job) : -1;
	const char *name;

	for (int32_t i = 0;
	     (name = trainer_text(
			  call, TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec.containers[%" PRId32 "].name", place, i));
	     i++) {
		if (strcmp(name, TRAINER_NODE) == 0)
			return trainer_text(call,
			                    TRAINER_JOBS "[%" PRId32 "].template.spec.template.spec.containers[%" PRId32
			                                 "].command[%" PRId32 "]",
			                    place, i, index);
	}
	return NULL;
}

/** Print the model of the runtime's configuration, llama3_2/1B of llama3_2/1B_full, into @p model. */
static void tune_find_model(const struct trainer_call *call, char *model)
{
	const char *word, *slash;

	*model = '\0';
	for (int32_t i = 0; (word = tune_word(call, i)); i++) {
		if (strcmp(word, "--config") != 0)
			continue;
		word = tune_word(call, i + 1);
		slash = word ? strchr(word, '/') : NULL;
		if (slash)
			snprintf(model, 64, "%.*s", (int)(slash - word + (ptrdiff_t)strcspn(slash, "_")), word);
		return;
	}
}

/** @return argument @p index of the job, borrowed; NULL after the last */
static const char *tune_argument(const struct trainer_call *call, int32_t index)
{
	char path[TRAINER_TEXT];

	snprintf(path, sizeof(path), "spec.trainer.args[%" PRId32 "]", index);
	return call->host->text(call->view, path);
}

static struct tune tune_read(const struct trainer_call *call)
{
	struct tune tune = {.nodes = trainer_nodes(call), .processes = trainer_gpus(call)};
	const char *argument;
	bool dora = false, base = false;
	char text[32];

	if (tune.processes < 1)
		tune.processes = strtoll(trainer_processes(call, text), NULL, 10);
	(void)call->host->integer(call->view, "spec.trainer.numProcPerNode", &tune.processes);
	for (int32_t i = 0; (argument = tune_argument(call, i)); i++) {
		tune.lora = tune.lora || strncmp(argument, "model.lora_attn_modules", 23) == 0;
		base = base || strcmp(argument, "model.quantize_base=true") == 0 ||
		       strcmp(argument, "model.quantize_base=True") == 0;
		dora = dora || strcmp(argument, "model.use_dora=true") == 0 || strcmp(argument, "model.use_dora=True") == 0;
	}
	tune.quantized = base && !dora;
	return tune;
}

/** Recipe and configuration. */
static void tune_choose(const struct tune *tune, const char *model, char *recipe, char *config)
{
	const bool single = tune->nodes == 1 && tune->processes == 1;
	const char *how = !tune->lora ? "full" : tune->quantized ? "qlora" : "lora";

	if (tune->nodes > 1) {
		snprintf(recipe, 64, "full_finetune_distributed");
		snprintf(config, 128, "%s_full_multinode", model);
		return;
	}
	snprintf(recipe, 64, "%s_finetune_%s", tune->lora ? "lora" : "full", single ? "single_device" : "distributed");
	snprintf(config, 128, "%s_%s%s", model, how, single ? "_single_device" : "");
}

static void tune_add_word(struct trainer_call *call, int32_t container, const char *word)
{
	trainer_edit(call, trainer_quote(call, "%s", word), "spec.containers[%" PRId32 "].command[+]", container);
}

bool trainer_add_tune(struct trainer_call *call, const struct rh_replica *me, int32_t container)
{
	const struct tune tune = tune_read(call);
	char model[64], recipe[64], config[128], host[TRAINER_TEXT], endpoint[TRAINER_TEXT + 64];
	const char *word;

	if (!trainer_tunes(call))
		return false;
	tune_find_model(call, model);
	tune_choose(&tune, model, recipe, config);
	snprintf(endpoint, sizeof(endpoint), "--rdzv_endpoint=%s:%" PRId32, trainer_host(call, me->type, 0, host),
	         call->host->port(call->view, me->type, 0));
	if (tune.nodes * tune.processes > 1)
		tune_add_word(call, container, endpoint);
	tune_add_word(call, container, recipe);
	tune_add_word(call, container, "--config");
	tune_add_word(call, container, config);
	for (int32_t i = 0; (word = tune_word(call, i)); i++) {
		if (tune_find_managed(word))
			tune_add_word(call, container, word);
	}
	return true;
}

void trainer_check_tune(struct trainer_call *call)
{
	char model[64], path[64];
	const char *argument;
	const int64_t nodes = trainer_nodes(call);

	if (!trainer_tunes(call))
		return;
	tune_find_model(call, model);
	snprintf(path, sizeof(path), "%s.spec." TRAINER_JOBS, call->runtime);
	if (!*model)
		trainer_refuse(call, path, "Required value: torchtune's command must have --config and a model");
	else if (nodes > 1 && strcmp(model, TUNE_MULTINODE) != 0)
		trainer_refuse(call, "spec.trainer.numNodes", "Invalid value: %" PRId64 ": must be 1 for %s model", nodes,
		               model);
	for (int32_t i = 0; (argument = tune_argument(call, i)); i++) {
		const char *managed = tune_find_managed(argument);

		snprintf(path, sizeof(path), "spec.trainer.args[%" PRId32 "]", i);
		if (managed)
			trainer_refuse(
				call, path,
				"Invalid value: \"%.253s\": must not set immutable config \"%s\" in trainer args; it is managed "
				"by the runtime",
				argument, managed);
	}
}
