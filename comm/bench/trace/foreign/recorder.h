/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/foreign/recorder.h
 * @brief Reads the dump of one rank by torch's flight recorder, which knows the operations of NCCL, Gloo and others:
 * the pickle that a time-out or torch.distributed writes, or the JSON of _dump_nccl_trace_json() and
 * _dump_fr_trace_json().
 */
#ifndef RH_COMM_BENCH_TRACE_FOREIGN_RECORDER_H
#define RH_COMM_BENCH_TRACE_FOREIGN_RECORDER_H

#include "comm/bench/trace/file.h"

/** @return whether the bytes begin as a pickle or as JSON does */
bool rh_recorder_is(const char *bytes, size_t length);
/**
 * Read a dump. The rank is the number at the end of the file's name: the dump has none.
 * @param path of the file. @param rank with the bytes of the file, which it owns; the rest is filled in
 * @param[out] why what is wrong with it, naming it, when it fails
 * @return 0 or RH_COMM_E*; the caller frees the rank by rh_trace_rank_deinit() either way
 */
int32_t rh_recorder_read(const char *path, size_t length, struct rh_trace_rank *rank, char *why, size_t room);
/** Dumps do not always say how many ranks there are: the world is what any of them says, or what there are of them. */
void rh_recorder_agree(struct rh_trace_rank *ranks, size_t count);

#endif
