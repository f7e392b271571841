/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/child/traps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/** Bytes of a path that are kept. */
#define TRAPS_PATH_SIZE 160

/** When a call is a breach. */
enum traps_when {
	TRAPS_ALWAYS,
	TRAPS_WRITING, /**< while files may be read: when its flags, behind the path, say that it writes */
	TRAPS_PROCESS, /**< unless its flags, the first argument, say that it starts a thread: state.c sees threads. The C
	                  library blocks all signals meanwhile, and a trap would end the process */
	TRAPS_ABSENT   /**< it fails as if the kernel did not have it */
};

/** One system call that is watched. */
struct traps_call {
	long number;
	enum traps_when when;
	enum rh_check check;
	int path; /**< which argument is a path, from 1; 0: none */
	const char *what;
};

/** A system call as the processor hands it over. */
struct traps_frame {
	unsigned long long args[3];
};

static const struct traps_call traps_calls[] = {
	{SYS_openat, TRAPS_WRITING, RH_CHECK_FILES, 2, "opened"},
	{SYS_mkdirat, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "made the folder"},
	{SYS_unlinkat, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "removed"},
	{SYS_symlinkat, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "made a link to"},
	{SYS_linkat, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "made a link to"},
	{SYS_fchmodat, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "changed the mode of"},
	{SYS_fchownat, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "changed the owner of"},
	{SYS_truncate, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "truncated"},
	{SYS_mknodat, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "made the node"},
	{SYS_renameat2, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "renamed"},
#ifdef SYS_openat2
	{SYS_openat2, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "opened"},
#endif
#ifdef SYS_renameat
	{SYS_renameat, TRAPS_ALWAYS, RH_CHECK_FILES, 2, "renamed"},
#endif
#ifdef SYS_open
	{SYS_open, TRAPS_WRITING, RH_CHECK_FILES, 1, "opened"},
	{SYS_creat, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "made the file"},
	{SYS_mkdir, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "made the folder"},
	{SYS_rmdir, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "removed the folder"},
	{SYS_unlink, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "removed"},
	{SYS_rename, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "renamed"},
	{SYS_link, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "made a link to"},
	{SYS_symlink, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "made a link to"},
	{SYS_chmod, TRAPS_ALWAYS, RH_CHECK_FILES, 1, "changed the mode of"},
	{SYS_fork, TRAPS_ALWAYS, RH_CHECK_THREADS, 0, "started a process (fork)"},
	{SYS_vfork, TRAPS_ALWAYS, RH_CHECK_THREADS, 0, "started a process (vfork)"},
	{SYS_pause, TRAPS_ALWAYS, RH_CHECK_TIME, 0, "waits for a signal (pause)"},
#endif
	{SYS_socket, TRAPS_ALWAYS, RH_CHECK_FILES, 0, "opened a socket"},
	{SYS_execve, TRAPS_ALWAYS, RH_CHECK_THREADS, 1, "executed"},
	{SYS_execveat, TRAPS_ALWAYS, RH_CHECK_THREADS, 2, "executed"},
	{SYS_clone, TRAPS_PROCESS, RH_CHECK_THREADS, 0, "started a process (clone)"},
#ifdef SYS_clone3
	{SYS_clone3, TRAPS_ABSENT, RH_CHECK_THREADS, 0, "started a process (clone3)"},
#endif
	{SYS_kill, TRAPS_ALWAYS, RH_CHECK_PROCESS, 0, "sent a signal to a process (kill)"},
	{SYS_nanosleep, TRAPS_ALWAYS, RH_CHECK_TIME, 0, "sleeps (nanosleep)"},
	{SYS_clock_nanosleep, TRAPS_ALWAYS, RH_CHECK_TIME, 0, "sleeps (clock_nanosleep)"},
};

#define TRAPS_COUNT (sizeof(traps_calls) / sizeof(traps_calls[0]))

#if defined(__x86_64__)
#define TRAPS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define TRAPS_ARCH AUDIT_ARCH_AARCH64
#endif

/** The first call since it was asked for: its place in traps_calls, and 1. A signal handler must reach these. */
static _Atomic unsigned traps_first;
static _Atomic unsigned traps_writes;                     /* 1: it opens a file for writing */
static _Atomic unsigned char traps_path[TRAPS_PATH_SIZE]; /* zero-terminated */

#ifdef TRAPS_ARCH
/** Copy a text of the plugin, which may be a bad pointer. */
static void traps_copy(unsigned long long address)
{
	char text[TRAPS_PATH_SIZE] = "";
	struct iovec to = {text, sizeof(text) - 1};
	struct iovec from = {(void *)(uintptr_t)address, sizeof(text) - 1}; /* NOLINT(performance-no-int-to-ptr) */
	ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	if (got < 0) { /* the page ends before the buffer does */
		from.iov_len = to.iov_len =
			4096 - (size_t)(address % 4096) < sizeof(text) ? 4096 - (size_t)(address % 4096) : 1;
		(void)process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	}
	for (size_t i = 0; i < sizeof(text); i++)
		atomic_store(&traps_path[i], (unsigned char)text[i]);
}

static void traps_remember(long number, const struct traps_frame *frame)
{
	for (size_t i = 0; i < TRAPS_COUNT; i++) {
		const struct traps_call *call = &traps_calls[i];

		if (call->number != number || atomic_load(&traps_first) != 0)
			continue;
		atomic_store(&traps_path[0], 0);
		atomic_store(&traps_writes, 0);
		if (call->path)
			traps_copy(frame->args[call->path - 1]);
		if (strcmp(call->what, "opened") == 0)
			atomic_store(&traps_writes, (frame->args[call->path] & (O_WRONLY | O_RDWR | O_CREAT)) != 0);
		atomic_store(&traps_first, (unsigned)i + 1);
	}
}

static void traps_on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	struct traps_frame frame;

	(void)number;
#if defined(__x86_64__)
	frame = (struct traps_frame){{(unsigned long long)at->uc_mcontext.gregs[REG_RDI],
	                              (unsigned long long)at->uc_mcontext.gregs[REG_RSI],
	                              (unsigned long long)at->uc_mcontext.gregs[REG_RDX]}};
	at->uc_mcontext.gregs[REG_RAX] = -EPERM;
#else
	frame = (struct traps_frame){{at->uc_mcontext.regs[0], at->uc_mcontext.regs[1], at->uc_mcontext.regs[2]}};
	at->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#endif
	traps_remember(info->si_syscall, &frame);
}

static struct sock_filter traps_if(uint16_t test, uint32_t value, size_t yes, size_t no)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, (uint8_t)yes, (uint8_t)no);
}

static struct sock_filter traps_return(uint32_t action)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/** Load the low half of argument @p index. */
static struct sock_filter traps_load(int index)
{
	uint32_t offset = (uint32_t)offsetof(struct seccomp_data, args) + (uint32_t)index * (uint32_t)sizeof(uint64_t);

	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}

/** Append what becomes of one system call. @return where the next one stands */
static size_t traps_append(struct sock_filter *filter, size_t at, const struct traps_call *call, bool reading)
{
	if (call->when == TRAPS_ABSENT) { /* the C library then makes the older call, whose flags can be looked at */
		filter[at++] = traps_if(BPF_JEQ, (uint32_t)call->number, 0, 1);
		filter[at++] = traps_return(SECCOMP_RET_ERRNO | ENOSYS);
		return at;
	}
	if (call->when == TRAPS_ALWAYS || (call->when == TRAPS_WRITING && !reading)) {
		filter[at++] = traps_if(BPF_JEQ, (uint32_t)call->number, 0, 1);
		filter[at++] = traps_return(SECCOMP_RET_TRAP);
		return at;
	}
	filter[at++] = traps_if(BPF_JEQ, (uint32_t)call->number, 0, 4);
	filter[at++] = traps_load(call->when == TRAPS_WRITING ? call->path : 0);
	if (call->when == TRAPS_WRITING)
		filter[at++] = traps_if(BPF_JSET, O_WRONLY | O_RDWR | O_CREAT, 1, 0);
	else
		filter[at++] = traps_if(BPF_JSET, CLONE_THREAD, 0, 1);
	filter[at++] = traps_return(SECCOMP_RET_ALLOW);
	filter[at++] = traps_return(SECCOMP_RET_TRAP);
	return at;
}

bool rh_traps_set(bool reading)
{
	struct sigaction action = {.sa_sigaction = traps_on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct sock_filter filter[TRAPS_COUNT * 5 + 5] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRAPS_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = {.filter = filter};
	size_t at = 4;

	for (size_t i = 0; i < TRAPS_COUNT; i++)
		at = traps_append(filter, at, &traps_calls[i], reading);
	filter[at++] = traps_return(SECCOMP_RET_ALLOW);
	program.len = (unsigned short)at;
	if (sigaction(SIGSYS, &action, NULL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
bool rh_traps_set(bool reading)
{
	(void)reading;
	return false;
}
#endif

bool rh_traps_take(enum rh_check *ret_check, char *ret_what, size_t size)
{
	unsigned first = atomic_load(&traps_first);
	char path[TRAPS_PATH_SIZE];

	if (first == 0 || first > TRAPS_COUNT)
		return false;
	const struct traps_call *call = &traps_calls[first - 1];

	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (char)atomic_load(&traps_path[i]);
	path[sizeof(path) - 1] = '\0';
	*ret_check = call->check;
	if (call->path)
		snprintf(ret_what, size, "it %s \"%s\"%s", call->what, path,
		         strcmp(call->what, "opened") != 0 ? ""
		         : atomic_load(&traps_writes) != 0 ? " for writing"
		                                           : " for reading");
	else
		snprintf(ret_what, size, "it %s", call->what);
	atomic_store(&traps_first, 0);
	return true;
}
