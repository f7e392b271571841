/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/cli.h
 * @brief Commands, their options, and what they share.
 *
 * A command is one row of a table and one file. Its options are data: parsing, --help, shell completion and the man
 * page all read the same rows.
 */
#ifndef RH_CLI_CLI_H
#define RH_CLI_CLI_H

#include <stddef.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/str.h"
#include "config/config.h"
#include "host/host.h"
#include "job/manifest.h"

/** @name Exit statuses of every command; `run` has more (local/run.h) @{ */
#define RH_EXIT_OK 0
#define RH_EXIT_FAILED 1    /**< it could not be done, or, for lint and check, it is not good */
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
	const char *argument; /**< what its argument is called ("DIR"); NULL: it takes none */
	/**
	 * allowed words, separated by '|'; NULL: free. "true|false" without an argument is a flag of V1: --x is --x=true
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
	const struct rh_option *options; /**< beside the common ones; NULL: none */
	size_t operands_min;
	size_t operands_max;
	/** Do it. @return the exit status of the program */
	int (*run)(const struct rh_cli *cli);
	bool hidden;   /**< not shown: for the program's own use */
	bool go_flags; /**< long options may have one dash, as V1's program let them */
	int bad_input; /**< exit status for wrong arguments; 0: RH_EXIT_BAD_INPUT */
};

/** One option that was given. */
struct rh_given {
	const struct rh_option *option;
	const char *value;
};

/** A parsed command line. */
struct rh_cli {
	const struct rh_command *command;
	const char
		*values[RH_OPTIONS_MAX]; /**< by row of command->options; "" for a flag that was given, NULL: not given */
	const char *common[RH_OPTIONS_MAX];  /**< likewise for rh_cli_common_options */
	struct rh_given given[RH_GIVEN_MAX]; /**< all of them, in order, for options that may be repeated */
	size_t given_count;
	char **words;    /**< all words after the command's name, ended by NULL; borrowed from argv */
	char **operands; /**< borrowed from argv */
	size_t operand_count;
};

/** All commands, in the order of the help; NULL ends it. */
extern const struct rh_command *const rh_commands[];
/** Options that every command has. */
extern const struct rh_option rh_cli_common_options[];

/** The commands' rows, each in its own file. */
extern const struct rh_command rh_command_run;
extern const struct rh_command rh_command_render;
extern const struct rh_command rh_command_lint;
extern const struct rh_command rh_command_explain;
extern const struct rh_command rh_command_crds;
extern const struct rh_command rh_command_plugins;
extern const struct rh_command rh_command_version;
extern const struct rh_command rh_command_completion;
extern const struct rh_command rh_command_man;
extern const struct rh_command rh_command_shim;
extern const struct rh_command rh_command_controller;
extern const struct rh_command rh_command_manifests;
extern const struct rh_command rh_command_comm;
extern const struct rh_command rh_command_ps;
extern const struct rh_command rh_command_exec;
extern const struct rh_command rh_command_inject;

/**
 * Parse the words after the command's name. Options and operands may be mixed; "--" ends the options.
 * @param[out] ret_cli operands point into @p argv, which is reordered
 * @return 0 or RH_EINVAL, with a message that says what would be right
 */
int rh_cli_parse(const struct rh_command *command, int argc, char **argv, struct rh_cli *ret_cli, struct rh_error *err);
/** @return the value of option @p name of the command or of the common ones, "" for a flag that was given, NULL when it
 * was not given */
const char *rh_cli_option(const struct rh_cli *cli, const char *name);
/**
 * Walk over the values of an option that may be repeated; start with *@p cursor 0. @return the next, or NULL at the end
 */
const char *rh_cli_each(const struct rh_cli *cli, const char *name, size_t *cursor);
/** Print the help of @p command, or of the program when it is NULL, on standard output. */
void rh_cli_help(const struct rh_command *command);
/** Print "roundhouse COMMAND: message" on standard error. @return @p status */
int rh_cli_fail(const struct rh_cli *cli, int status, const char *message);
/** @return the exit status that fits a negative rh_status: bad input for what the user can mend, else failed */
int rh_cli_status(int code);
/** What every program of ours does first: no signal for a closed pipe, and no file in place of a standard descriptor.
 */
void rh_cli_prepare(void);
/** Print @p text on standard output; rh_cli_finish() sees whether it arrived. */
void rh_cli_print(const struct rh_str *text);
/** What it does last. @return @p status, or RH_EXIT_FAILED where it is success but standard output was not written */
int rh_cli_finish(int status);
/** @return whether @p fd is a terminal that wants colour (NO_COLOR and TERM=dumb are honoured) */
bool rh_cli_colour(int fd);

/**
 * Become another program of ours, which lies beside this one, with the same words after the command's name. @param as
 * what it is called (its argv[0]). Comes back only when it cannot be done. @return RH_EXIT_FAILED
 */
int rh_cli_start_program(const struct rh_cli *cli, const char *program, const char *as);
/**
 * Become the program roundhouse-controller, with the same words after the command's name. @param as what it is called,
 * which says what it is to do. Comes back only when it cannot be done. @return the exit status
 */
int rh_cli_start_controller(const struct rh_cli *cli, const char *as);

/** Configuration and plugins, as every command that deals with jobs needs them. All zero is empty. */
struct rh_session {
	struct rh_config *config;
	struct rh_host *host;
};

/** Read the configuration (--config) and load the plugins (--plugins DIR adds a folder in front). @return 0 or a
 * negative status */
int rh_session_load(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err);
/** rh_session_load(), and a warning about each plugin that is left out without being forbidden. */
int rh_session_open(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err);
/**
 * Take V1's environment variables that plugins read as settings (CUSTOM_CLUSTER_DOMAIN), for what is made for a
 * cluster. What the configuration sets counts before them. @return 0; RH_EINVAL: a value is not valid; or RH_ENOMEM
 */
int rh_session_take_variables(struct rh_session *session, struct rh_error *err);
/** Free it and make it empty. */
void rh_session_close(struct rh_session *session);

/** A session that is closed when it goes out of scope. */
#define rh_auto_session __attribute__((cleanup(rh_session_close))) struct rh_session

/** Jobs of the files that the operands name, parsed and checked. All zero is empty. */
struct rh_jobs {
	struct rh_manifest manifest;
	struct rh_job **items; /**< jobs in the order of the files; owned */
	const char **sources;  /**< where each stands; borrowed from the manifest */
	size_t count;
};

/**
 * Read every operand as a manifest and parse its jobs. Findings go to standard error, each as "FILE: KIND NAME: path:
 * detail".
 * @return 0 when there is at least one job and no error; RH_EINVAL when there were errors (they have been printed; @p
 * err says how many) or there is no job
 */
int rh_jobs_open(const struct rh_cli *cli, const struct rh_session *session, struct rh_jobs *jobs,
                 struct rh_error *err);
/** @return whether an object of a file is, or was meant to be, a job: of a kind that a plugin serves, in whatever
 * group, of the group kubeflow.org, or of an API that is easily taken for V1's (rh_foreign_api()) */
bool rh_jobs_is_job(const struct rh_session *session, const struct rh_json *object);
/** Free it and make it empty. */
void rh_jobs_close(struct rh_jobs *jobs);

/** Jobs that are freed when they go out of scope. */
#define rh_auto_jobs __attribute__((cleanup(rh_jobs_close))) struct rh_jobs

#endif
