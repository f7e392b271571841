/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/runs/processes.h
 * @brief `roundhouse ps`, where it is not the old word for a parameter server.
 */
#ifndef RH_CLI_COMMANDS_RUNS_PROCESSES_H
#define RH_CLI_COMMANDS_RUNS_PROCESSES_H

#include "cli/cli.h"

/** List the processes of runs that go on, of the operand or of all. @return the exit status */
int rh_processes_run(const struct rh_cli *cli);

#endif
