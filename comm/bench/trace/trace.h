/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/trace.h
 * @brief `roundhouse comm trace`: reads what ranks did last from files that outlive them.
 */
#ifndef RH_COMM_BENCH_TRACE_TRACE_H
#define RH_COMM_BENCH_TRACE_TRACE_H

/**
 * Read the files, compare, print.
 * @param words options and files, up to NULL
 * @return exit status: 0: all ranks have come to the same operations; 1: not so, or it failed; 2: wrong words or files
 */
int rh_trace_run(char *const *words);

#endif
