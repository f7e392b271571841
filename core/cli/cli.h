/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/cli.h
 * @brief Commands and their command lines.
 *
 * A command is one row of a table and one file. Its options are data: parsing, --help, shell completion and the man
 * page all read the same rows.
 */
#ifndef RH_CLI_CLI_H
#define RH_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

/** @name Exit statuses of every command; `run` has more (local/run.h) @{ */
#define RH_EXIT_OK 0
#define RH_EXIT_FAILED 1    /**< failed, or, for lint and check, problems were found */
#define RH_EXIT_BAD_INPUT 2 /**< wrong arguments or files */
/** @} */

/** Most options that a command may have. */
#define RH_OPTIONS_MAX 40
/** Most options that one command line may give. */
#define RH_GIVEN_MAX 64

/** One option. A row with name NULL ends a list. */
struct rh_option {
	const char *name;     /**< long form without dashes */
	char letter;          /**< short form; 0: none */
	const char *argument; /**< name of its argument ("DIR"); NULL: none */
	/**
	 * Allowed values, separated by '|'; NULL: any. "true|false" without an argument is a flag of V1: --x is --x=true
	 */
	const char *values;
	const char *help; /**< one sentence, lower case, no full stop */
};

struct rh_cli;

/** One command. */
struct rh_command {
	const char *name;
	const char *synopsis;            /**< operands: "FILE..." */
	const char *summary;             /**< one line, lower case, no full stop */
	const char *details;             /**< paragraphs for --help and the man page */
	const struct rh_option *options; /**< without the common ones; NULL: none */
	size_t operands_min;
	size_t operands_max;
	/** Run the command. @return the exit status of the program */
	int (*run)(const struct rh_cli *cli);
	bool go_flags; /**< long options may have one dash, as in V1's program */
	/** Print words that operands may be, each with a space behind it, for completion. NULL: operands are files */
	void (*words)(void);
	/** Call of this program that prints what operands may be, for completion: "ls -o name". NULL: they are files */
	const char *names;
	int bad_input; /**< exit status for wrong arguments; 0: RH_EXIT_BAD_INPUT */
};

/** One option of a command line. */
struct rh_given {
	const struct rh_option *option;
	const char *value;
};

/** A parsed command line. */
struct rh_cli {
	const struct rh_command *command;
	const struct rh_command *const *commands; /**< of the whole program, ended by NULL, for commands that describe it */
	const char *values[RH_OPTIONS_MAX];       /**< by row of command->options; "" for a given flag, NULL: not given */
	const char *common[RH_OPTIONS_MAX];       /**< likewise for rh_cli_common_options */
	struct rh_given given[RH_GIVEN_MAX];      /**< all options in order, for those that may be repeated */
	size_t given_count;
	char **words;    /**< all arguments after the command's name, ended by NULL; borrowed from argv */
	char **operands; /**< borrowed from argv */
	size_t operand_count;
};

/** Options that every command has. */
extern const struct rh_option rh_cli_common_options[];

/**
 * Parse the arguments after the command's name. Options and operands may be mixed; "--" ends the options.
 * @param[out] ret_cli operands point into @p argv, which is reordered
 * @return 0 or RH_EINVAL, with a message that names the fix
 */
int rh_cli_parse(const struct rh_command *command, int argc, char **argv, struct rh_cli *ret_cli, struct rh_error *err);
/** @return the value of option @p name of the command or of the common ones, borrowed; "" for a given flag, NULL: not
 * given */
const char *rh_cli_option(const struct rh_cli *cli, const char *name);
/**
 * Iterate over the values of an option that may be repeated; start with *@p cursor 0. @return the next value, borrowed,
 * or NULL at the end
 */
const char *rh_cli_each(const struct rh_cli *cli, const char *name, size_t *cursor);
/** Print the help of @p command, or of the program when it is NULL, on standard output. */
void rh_cli_help(const struct rh_command *command);
/** Print "roundhouse COMMAND: message" on standard error. @return @p status */
int rh_cli_fail(const struct rh_cli *cli, int status, const char *message);
/** @return the exit status for a negative rh_status: RH_EXIT_BAD_INPUT for errors of the user's input, else
 * RH_EXIT_FAILED */
int rh_cli_status(int code);
/**
 * Last step of a command, or of its part that can fail. @return RH_EXIT_OK; or the exit status of a negative @p result,
 * after the message of @p err has been printed
 */
int rh_cli_end(const struct rh_cli *cli, int result, const struct rh_error *err);
/** First step of every program: ignore SIGPIPE, and open closed standard descriptors on /dev/null. */
void rh_cli_prepare(void);
/** Print @p text on standard output; rh_cli_finish() reports write errors. */
void rh_cli_print(const struct rh_str *text);
/** Last step of every program: flush standard output. @return @p status, or RH_EXIT_FAILED when @p status is success
 * but the output could not be written */
int rh_cli_finish(int status);
/** @return whether to write colours to @p fd: it is a terminal (NO_COLOR and TERM=dumb are honoured) */
bool rh_cli_colour(int fd);

/** The program with what a cluster needs. */
#define RH_CLI_CONTROLLER "roundhouse-controller"

/**
 * Replace this process by @p program of the same folder. Returns only after a failure, which has been printed.
 * @param as its argv[0], which may select its function
 * @param words its further arguments, ended by NULL
 * @return RH_EXIT_FAILED
 */
int rh_cli_start_program(const struct rh_cli *cli, const char *program, const char *as, char *const *words);
/** rh_cli_start_program() with the options and operands of this command line. @return RH_EXIT_FAILED */
int rh_cli_start_again(const struct rh_cli *cli, const char *program, const char *as);

#endif
