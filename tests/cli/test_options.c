/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"

/* A command line and what becomes of it; values that are NULL are not given. */
struct row {
	const char *name;
	const char *words[8];
	int result;
	const char *output;
	const char *quiet;
	const char *config;
	const char *operands; /* joined by a space */
	const char *message;  /* part of the error */
};

static const struct rh_option options[] = {
	{"output", 'o', "FORMAT", "text|json", "format"},
	{"quiet", 'q', NULL, NULL, "be quiet"},
	{NULL, 0, NULL, NULL, NULL},
};

static const struct rh_command command = {
	.name = "try",
	.synopsis = "FILE...",
	.summary = "",
	.details = "",
	.options = options,
	.operands_min = 1,
	.operands_max = 3,
};

static const struct row rows[] = {
	{"operand alone", {"a"}, 0, NULL, NULL, NULL, "a", NULL},
	{"long option, separate value", {"--output", "json", "a"}, 0, "json", NULL, NULL, "a", NULL},
	{"long option, joined value", {"--output=json", "a"}, 0, "json", NULL, NULL, "a", NULL},
	{"short option, separate value", {"-o", "json", "a"}, 0, "json", NULL, NULL, "a", NULL},
	{"short option, joined value", {"-ojson", "a"}, 0, "json", NULL, NULL, "a", NULL},
	{"flag", {"-q", "a"}, 0, NULL, "", NULL, "a", NULL},
	{"bundle, separate value", {"-qo", "json", "a"}, 0, "json", "", NULL, "a", NULL},
	{"bundle, joined value", {"-qojson", "a"}, 0, "json", "", NULL, "a", NULL},
	{"bundle of flags", {"-qq", "a"}, 0, NULL, "", NULL, "a", NULL},
	{"options behind operands", {"a", "--quiet", "b", "-o", "text"}, 0, "text", "", NULL, "a b", NULL},
	{"common option", {"--config", "x.ini", "a"}, 0, NULL, NULL, "x.ini", "a", NULL},
	{"dashes end options", {"--", "--quiet"}, 0, NULL, NULL, NULL, "--quiet", NULL},
	{"dash is an operand", {"-"}, 0, NULL, NULL, NULL, "-", NULL},
	{"last value wins", {"-o", "text", "-o", "json", "a"}, 0, "json", NULL, NULL, "a", NULL},
	{"help needs no operand", {"--help"}, 0, NULL, NULL, NULL, "", NULL},
	{"unknown, near", {"--ouput", "json"}, RH_EINVAL, NULL, NULL, NULL, NULL, "did you mean --output?"},
	{"unknown, far",
     {"--zzzzzz"},
     RH_EINVAL,
     NULL,
     NULL,
     NULL,
     NULL,
     "unknown option --zzzzzz; `roundhouse try --help`"},
	{"unknown, with a value",
     {"--ouput=json"},
     RH_EINVAL,
     NULL,
     NULL,
     NULL,
     NULL,
     "unknown option --ouput; did you mean"},
	{"unknown, short", {"-x"}, RH_EINVAL, NULL, NULL, NULL, NULL, "unknown option -x"},
	{"value missing", {"a", "--output"}, RH_EINVAL, NULL, NULL, NULL, NULL, "option --output needs FORMAT"},
	{"value missing, short", {"a", "-o"}, RH_EINVAL, NULL, NULL, NULL, NULL, "option -o needs FORMAT"},
	{"value not allowed", {"-o", "xml", "a"}, RH_EINVAL, NULL, NULL, NULL, NULL, "\"xml\" is none of text|json"},
	{"value that starts an allowed one", {"-o", "js", "a"}, RH_EINVAL, NULL, NULL, NULL, NULL, "\"js\" is none of"},
	{"value for a flag", {"--quiet=yes", "a"}, RH_EINVAL, NULL, NULL, NULL, NULL, "option --quiet takes no argument"},
	{"bundle with an unknown letter", {"-qz"}, RH_EINVAL, NULL, NULL, NULL, NULL, "unknown option -z"},
	{"bundle, value missing", {"a", "-qo"}, RH_EINVAL, NULL, NULL, NULL, NULL, "option -o needs FORMAT"},
	{"bundle, value not allowed", {"-qoxml", "a"}, RH_EINVAL, NULL, NULL, NULL, NULL, "\"xml\" is none of text|json"},
	{"operand missing", {"-q"}, RH_EINVAL, NULL, NULL, NULL, NULL, "missing operand: FILE...; `roundhouse"},
	{"too many operands", {"a", "b", "c", "d"}, RH_EINVAL, NULL, NULL, NULL, NULL, "too many operands: \"d\""},
};

static void check_same(const char *got, const char *want)
{
	if (!want)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

static void check_operands(const struct rh_cli *cli, const char *want)
{
	char joined[64] = "";

	for (size_t i = 0; i < cli->operand_count; i++) {
		if (i)
			strncat(joined, " ", sizeof(joined) - strlen(joined) - 1);
		strncat(joined, cli->operands[i], sizeof(joined) - strlen(joined) - 1);
	}
	assert_string_equal(joined, want);
}

static void check_row(const struct row *row)
{
	char *argv[8];
	struct rh_cli cli = {.command = &command};
	struct rh_error err = {0};
	int argc = 0;

	while (argc < 8 && row->words[argc]) {
		argv[argc] = (char *)row->words[argc];
		argc++;
	}
	assert_int_equal(rh_cli_parse(&command, argc, argv, &cli, &err), row->result);
	if (row->result < 0) {
		assert_non_null(strstr(err.message, row->message));
		return;
	}
	check_same(rh_cli_option(&cli, "output"), row->output);
	check_same(rh_cli_option(&cli, "quiet"), row->quiet);
	check_same(rh_cli_option(&cli, "config"), row->config);
	check_operands(&cli, row->operands);
}

static void test_options__parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		print_message("row: %s\n", rows[i].name);
		check_row(&rows[i]);
	}
}

static const struct rh_option go_options[] = {
	{"leader-elect", 0, NULL, "true|false", "elect"},
	{"scheme", 0, "KIND", NULL, "may be repeated"},
	{NULL, 0, NULL, NULL, NULL},
};

static const struct rh_command go_command = {
	.name = "go", .synopsis = "", .summary = "", .details = "", .options = go_options, .go_flags = true};

/* A command line of V1's kind; elect NULL: not given; schemes joined by a comma. */
struct go_row {
	const char *words[8];
	int result;
	const char *elect;
	const char *schemes;
	const char *message;
};

static const struct go_row go_rows[] = {
	{{NULL}, 0, NULL, "", NULL},
	{{"--leader-elect"}, 0, "true", "", NULL},
	{{"-leader-elect"}, 0, "true", "", NULL},
	{{"-leader-elect=false"}, 0, "false", "", NULL},
	{{"--leader-elect=T"}, 0, "true", "", NULL},
	{{"--leader-elect=0"}, 0, "false", "", NULL},
	{{"-scheme", "a", "--scheme=b", "-scheme=c"}, 0, NULL, "a,b,c", NULL},
	{{"-leader-elect", "-scheme", "a"}, 0, "true", "a", NULL},
	{{"--leader-elect=maybe"}, RH_EINVAL, NULL, NULL, "\"maybe\" is none of true|false"},
	{{"-leader-elec"}, RH_EINVAL, NULL, NULL, "did you mean --leader-elect?"},
	{{"-scheme"}, RH_EINVAL, NULL, NULL, "option --scheme needs KIND"},
	{{"--leader-elect", "false"}, RH_EINVAL, NULL, NULL, "too many operands: \"false\""},
};

static void check_go_row(const struct go_row *row)
{
	char *argv[9] = {NULL};
	struct rh_cli cli = {.command = &go_command};
	struct rh_error err = {0};
	char schemes[64] = "";
	const char *value;
	size_t cursor = 0;
	int argc = 0;

	for (; row->words[argc]; argc++)
		argv[argc] = (char *)row->words[argc];
	assert_int_equal(rh_cli_parse(&go_command, argc, argv, &cli, &err), row->result);
	if (row->result < 0) {
		assert_non_null(strstr(err.message, row->message));
		return;
	}
	check_same(rh_cli_option(&cli, "leader-elect"), row->elect);
	while ((value = rh_cli_each(&cli, "scheme", &cursor))) {
		if (*schemes)
			strncat(schemes, ",", sizeof(schemes) - strlen(schemes) - 1);
		strncat(schemes, value, sizeof(schemes) - strlen(schemes) - 1);
	}
	assert_string_equal(schemes, row->schemes);
	assert_ptr_equal(cli.words, argv);
}

static void test_options__flags_of_go(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(go_rows) / sizeof(*go_rows); i++) {
		print_message("row: %s\n", go_rows[i].words[0] ? go_rows[i].words[0] : "nothing");
		check_go_row(&go_rows[i]);
	}
}

static void test_options__too_many(void **state)
{
	char *argv[RH_GIVEN_MAX + 2] = {NULL};
	struct rh_cli cli = {.command = &go_command};
	struct rh_error err = {0};

	(void)state;
	for (int i = 0; i <= RH_GIVEN_MAX; i++)
		argv[i] = (char *)"--leader-elect";
	assert_int_equal(rh_cli_parse(&go_command, RH_GIVEN_MAX, argv, &cli, &err), 0);
	assert_int_equal(rh_cli_parse(&go_command, RH_GIVEN_MAX + 1, argv, &cli, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "more than"));
}

static void test_options__every_command_is_well_formed(void **state)
{
	(void)state;
	for (const struct rh_command *const *at = rh_commands; *at; at++) {
		size_t count = 0;

		assert_non_null((*at)->run);
		assert_non_null((*at)->synopsis);
		assert_non_null((*at)->details);
		assert_true((*at)->operands_max >= (*at)->operands_min);
		for (const struct rh_option *option = (*at)->options; option && option->name; option++)
			count++;
		assert_true(count < RH_OPTIONS_MAX);
	}
}

static void test_options__status_of_a_code(void **state)
{
	(void)state;
	assert_int_equal(rh_cli_status(RH_EINVAL), RH_EXIT_BAD_INPUT);
	assert_int_equal(rh_cli_status(RH_ENOENT), RH_EXIT_BAD_INPUT);
	assert_int_equal(rh_cli_status(RH_ENOMEM), RH_EXIT_FAILED);
	assert_int_equal(rh_cli_status(RH_EPLUGIN), RH_EXIT_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options__parse),
		cmocka_unit_test(test_options__flags_of_go),
		cmocka_unit_test(test_options__too_many),
		cmocka_unit_test(test_options__every_command_is_well_formed),
		cmocka_unit_test(test_options__status_of_a_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
