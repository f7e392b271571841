/* SPDX-License-Identifier: Apache-2.0 */
/* Strategic merge of Kubernetes, for the fields that a patch of a runtime may have. */
#include <string.h>

#include "runtime.h"

/** A list whose items are known by a member. Other lists are replaced as a whole. */
struct merge_list {
	const char *field;
	const char *key;
	bool whole; /**< an item of the patch takes the place of the old one: a volume has one source */
};

static const struct merge_list merge_lists[] = {
	{"replicatedJobs", "name", false},   {"containers", "name", false},
	{"initContainers", "name", false},   {"env", "name", false},
	{"volumes", "name", true},           {"volumeMounts", "mountPath", false},
	{"imagePullSecrets", "name", false}, {"schedulingGates", "name", false},
};

static const struct merge_list *merge_list_of(const char *field)
{
	for (size_t i = 0; field && i < sizeof(merge_lists) / sizeof(merge_lists[0]); i++) {
		if (strcmp(merge_lists[i].field, field) == 0)
			return &merge_lists[i];
	}
	return NULL;
}

/** Items that are new come first, in the order of the patch; the others keep their place. */
static void merge_items(struct tree *tree, const struct merge_list *list, struct tree_node *into,
                        const struct tree_node *patch)
{
	struct tree_node fresh = {.type = TREE_LIST};

	for (const struct tree_node *item = patch->first; item; item = item->next) {
		const char *name = tree_text(tree, tree_get(item, list->key));
		struct tree_node *old = tree_find(into, list->key, name);
		struct tree_node *copy = !old || list->whole ? tree_copy(tree, item) : NULL;

		if (!old)
			tree_append(&fresh, copy);
		else if (copy)
			tree_replace(old, copy);
		else
			trainer_merge(tree, old, item);
	}
	if (!fresh.first)
		return;
	fresh.last->next = into->first;
	into->first = fresh.first;
	if (!into->last)
		into->last = fresh.last;
}

static void merge_member(struct tree *tree, struct tree_node *into, const struct tree_node *patch)
{
	struct tree_node *old = tree_get(into, patch->key);
	const struct merge_list *list = merge_list_of(patch->key);

	if (old && list && old->type == TREE_LIST && patch->type == TREE_LIST)
		merge_items(tree, list, old, patch);
	else if (old && old->type == TREE_MAP && patch->type == TREE_MAP)
		trainer_merge(tree, old, patch);
	else
		tree_set(tree, into, patch->key, tree_copy(tree, patch));
}

void trainer_merge(struct tree *tree, struct tree_node *into, const struct tree_node *patch)
{
	for (const struct tree_node *item = patch ? patch->first : NULL; item; item = item->next)
		merge_member(tree, into, item);
}
