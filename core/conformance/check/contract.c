/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/check/contract.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/** Room for "what name" of an entry. */
#define CONTRACT_KEY_SIZE 400

static const char *contract_key(const struct rh_json *entry, char key[CONTRACT_KEY_SIZE])
{
	const char *what = rh_json_string_at(entry, "what");
	const char *name = rh_json_string_at(entry, "name");

	snprintf(key, CONTRACT_KEY_SIZE, "%.30s %.350s", what ? what : "?", name ? name : "?");
	return key;
}

static void contract_check_entry(struct rh_board *board, const struct rh_json *entry)
{
	static const char words[] = "env|initContainer|volume|mount|field|object";
	const char *what = rh_json_string_at(entry, "what");

	if (!what || !rh_json_string_at(entry, "name") || !rh_json_string_at(entry, "value"))
		rh_board_add(board, RH_CHECK_CONTRACT, "an entry has no what, name or value: each is a text");
	else if (!rh_words_have(words, '|', what, strlen(what)))
		rh_board_add(board, RH_CHECK_CONTRACT, "what is \"%.60s\", and must be one of %s", what, words);
}

int rh_contract_open(struct rh_contract *contract, struct rh_board *board, const struct rh_kind *kind)
{
	char key[CONTRACT_KEY_SIZE];
	rh_auto(json) keys = rh_json_new_object();
	const struct rh_json *entry;

	*contract = (struct rh_contract){0};
	if (!kind->contract) {
		rh_board_warn(board, RH_CHECK_CONTRACT,
		              "kind %s has no contract: `roundhouse explain %s` cannot show what pods "
		              "get",
		              kind->kind, kind->kind);
		return 0;
	}
	if (!keys || rh_json_parse(kind->contract, strlen(kind->contract), &contract->entries, NULL) == RH_ENOMEM)
		return RH_ENOMEM;
	contract->count = rh_json_size(contract->entries);
	contract->seen = rh_alloc_array(contract->count + 1, sizeof(bool));
	if (!contract->seen)
		return RH_ENOMEM;
	for (entry = rh_json_first(contract->entries); entry; entry = rh_json_next(entry)) {
		contract_check_entry(board, entry);
		if (rh_json_get(keys, contract_key(entry, key)))
			rh_board_add(board, RH_CHECK_CONTRACT, "the contract has the entry \"%s\" twice", key);
		else if (rh_json_set_bool(keys, key, true) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

void rh_contract_close(struct rh_contract *contract)
{
	rh_json_free(contract->entries);
	rh_free(contract->seen);
	*contract = (struct rh_contract){0};
}

/** @return whether the entry is about pods of @p type */
static bool contract_is_for(const struct rh_json *entry, const char *type)
{
	const struct rh_json *types = rh_json_get(entry, "types");
	const struct rh_json *item = rh_json_first(types);

	for (; item; item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(item), type))
			return true;
	}
	return !types;
}

/** @return whether the job may set the path of this mount: the entry names its default */
static bool contract_is_elsewhere(const struct rh_json *entry, const char *required)
{
	return rh_text_equal(rh_json_string_at(entry, "what"), "mount") && rh_json_get(entry, "source") &&
	       rh_starts_with(required, "mount ");
}

/** Note an addition. @return the entry that names it, or NULL */
static const struct rh_json *contract_see(struct rh_contract *contract, const char *required)
{
	const struct rh_json *entry = rh_json_first(contract->entries);
	const struct rh_json *found = NULL;
	char key[CONTRACT_KEY_SIZE];
	size_t place = 0;
	bool exact = false;

	for (size_t i = 0; entry && i < contract->count && !exact; i++, entry = rh_json_next(entry)) {
		exact = strcmp(contract_key(entry, key), required) == 0;
		if (exact || contract_is_elsewhere(entry, required)) {
			found = entry;
			place = i;
		}
	}
	if (found)
		contract->seen[place] = true;
	return found;
}

static void contract_check_additions(struct rh_contract *contract, struct rh_board *board,
                                     const struct rh_json *additions, const char *type)
{
	for (const struct rh_json *item = rh_json_first(additions); item; item = rh_json_next(item)) {
		const struct rh_json *entry = contract_see(contract, rh_json_key(item));

		if (!entry)
			rh_board_add(board, RH_CHECK_CONTRACT, "a pod of type %s gets %.350s, which the contract does not name",
			             type, rh_json_key(item));
		else if (!contract_is_for(entry, type))
			rh_board_add(board, RH_CHECK_CONTRACT, "a pod of type %s gets %.350s, and the contract names other types",
			             type, rh_json_key(item));
	}
}

void rh_contract_pod(struct rh_contract *contract, struct rh_board *board, const struct rh_json *additions,
                     const char *type)
{
	const struct rh_json *entry;
	char key[CONTRACT_KEY_SIZE];

	if (!contract->entries)
		return;
	contract->pods = true;
	contract_check_additions(contract, board, additions, type);
	for (entry = rh_json_first(contract->entries); entry; entry = rh_json_next(entry)) {
		if (rh_text_equal(rh_json_string_at(entry, "what"), "object") || rh_json_get(entry, "when") ||
		    !contract_is_for(entry, type) || rh_json_get(additions, contract_key(entry, key)))
			continue;
		rh_board_add(board, RH_CHECK_CONTRACT,
		             "a pod of type %s does not get %s, and the contract names no condition (\"when\")", type, key);
	}
}

void rh_contract_object(struct rh_contract *contract, struct rh_board *board, const char *kind, const char *name)
{
	char key[CONTRACT_KEY_SIZE];

	snprintf(key, sizeof(key), "object %.100s %.240s", kind, name);
	if (contract->entries && !contract_see(contract, key))
		rh_board_add(board, RH_CHECK_CONTRACT, "objects() names %s, which the contract does not name", key);
}

void rh_contract_finish(const struct rh_contract *contract, struct rh_board *board)
{
	const struct rh_json *entry = rh_json_first(contract->entries);
	char key[CONTRACT_KEY_SIZE];

	for (size_t i = 0; entry && i < contract->count; i++, entry = rh_json_next(entry)) {
		bool asked = rh_text_equal(rh_json_string_at(entry, "what"), "object") ? contract->objects : contract->pods;

		if (contract->seen[i] || !asked)
			continue;
		if (rh_json_get(entry, "when"))
			rh_board_warn(board, RH_CHECK_CONTRACT, "no generated job has %s: give a job file that has it",
			              contract_key(entry, key));
		else
			rh_board_add(board, RH_CHECK_CONTRACT, "no job has %s", contract_key(entry, key));
	}
}
