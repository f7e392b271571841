/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/sandbox.h"

#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/os/limit.h"
#include "host/containment/probe.h"

#if defined(__x86_64__)
#define SANDBOX_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCH AUDIT_ARCH_AARCH64
#endif

static void sandbox_drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)syscall(SYS_capset, &head, none);
}

#if defined(SANDBOX_ARCH) && !defined(RH_INSTRUMENTED) /* a sanitizer starts processes and reads /proc */

/** Room for a filter; the kernel takes 4096. */
#define SANDBOX_FILTER_MAX 512
/** Low 32 bits of argument @p n of a system call, on a little-endian machine. */
#define SANDBOX_ARGUMENT(n) ((uint32_t)(offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t)))
/** Flags of open() that change a file or make one. */
#define SANDBOX_WRITES ((uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND))

/** System calls that loading a shared object, computing, and answering need. */
static const uint32_t sandbox_calls[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_close,
	SYS_lseek,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_statfs,
	SYS_fstatfs,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_getcwd,
	SYS_fcntl,
	SYS_fadvise64,
	SYS_ppoll,
	SYS_mmap,
	SYS_mprotect,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_membarrier,
	SYS_futex,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_gettimeofday,
	SYS_getrandom,
	SYS_getpid,
	SYS_getppid,
	SYS_gettid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getpgid,
	SYS_uname,
	SYS_sysinfo,
	SYS_getrusage,
	SYS_times,
	SYS_seccomp, /* can take away only */
	SYS_exit,
	SYS_exit_group,
#ifdef SYS_access
	SYS_access,
	SYS_readlink,
	SYS_stat,
	SYS_lstat,
	SYS_poll,
	SYS_time,
	SYS_getpgrp,
	SYS_arch_prctl,
#endif
};

/** A filter that is being written. */
struct sandbox_filter {
	struct sock_filter steps[SANDBOX_FILTER_MAX];
	uint16_t count;
};

static void sandbox_add(struct sandbox_filter *filter, uint16_t code, uint32_t value, uint8_t yes, uint8_t no)
{
	filter->steps[filter->count++] = (struct sock_filter){code, yes, no, value};
}

static void sandbox_load(struct sandbox_filter *filter, uint32_t offset)
{
	sandbox_add(filter, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void sandbox_return(struct sandbox_filter *filter, uint32_t what)
{
	sandbox_add(filter, BPF_RET | BPF_K, what, 0, 0);
}

/** Begin a filter: a system call of another architecture has other numbers. */
static void sandbox_begin(struct sandbox_filter *filter)
{
	filter->count = 0;
	sandbox_load(filter, offsetof(struct seccomp_data, arch));
	sandbox_add(filter, BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCH, 1, 0);
	sandbox_return(filter, SECCOMP_RET_KILL_PROCESS);
	sandbox_load(filter, offsetof(struct seccomp_data, nr));
}

/** System call @p call ends with @p what. */
static void sandbox_rule(struct sandbox_filter *filter, uint32_t call, uint32_t what)
{
	sandbox_add(filter, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
	sandbox_return(filter, what);
}

/** Allow @p call where the bits @p mask of argument @p argument are @p value; else it fails with @p error. */
static void sandbox_rule_where(struct sandbox_filter *filter, uint32_t call, unsigned argument, uint32_t mask,
                               uint32_t value, uint32_t error)
{
	sandbox_add(filter, BPF_JMP | BPF_JEQ | BPF_K, call, 0, 5);
	sandbox_load(filter, SANDBOX_ARGUMENT(argument));
	sandbox_add(filter, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	sandbox_add(filter, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	sandbox_return(filter, SECCOMP_RET_ALLOW);
	sandbox_return(filter, SECCOMP_RET_ERRNO | error);
}

static void sandbox_install(struct sandbox_filter *filter)
{
	struct sock_fprog program = {.len = filter->count, .filter = filter->steps};

	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void sandbox_filter_calls(void)
{
	struct sandbox_filter filter;
	uint32_t self = (uint32_t)getpid();

	sandbox_begin(&filter);
	for (size_t i = 0; i < sizeof(sandbox_calls) / sizeof(sandbox_calls[0]); i++)
		sandbox_rule(&filter, sandbox_calls[i], SECCOMP_RET_ALLOW);
	sandbox_rule_where(&filter, SYS_openat, 2, SANDBOX_WRITES, 0, EACCES);
#ifdef SYS_open
	sandbox_rule_where(&filter, SYS_open, 1, SANDBOX_WRITES, 0, EACCES);
#endif
	sandbox_rule_where(&filter, SYS_clone, 0, CLONE_THREAD, CLONE_THREAD, EPERM);
	sandbox_rule_where(&filter, SYS_kill, 0, UINT32_MAX, self, EPERM);
	sandbox_rule_where(&filter, SYS_tgkill, 0, UINT32_MAX, self, EPERM);
	/* the flags of clone3() are in memory, which a filter cannot read: the C library then calls clone() */
	sandbox_rule(&filter, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
	/* limits of this process alone; they are hard ones, which cannot be raised */
	sandbox_rule_where(&filter, SYS_prlimit64, 0, UINT32_MAX, 0, EPERM);
	sandbox_return(&filter, SECCOMP_RET_ERRNO | EPERM);
	sandbox_install(&filter);
}

void rh_sandbox_close_files(void)
{
	struct sandbox_filter filter;

	sandbox_begin(&filter);
	sandbox_rule(&filter, SYS_openat, SECCOMP_RET_ERRNO | EACCES);
#ifdef SYS_open
	sandbox_rule(&filter, SYS_open, SECCOMP_RET_ERRNO | EACCES);
#endif
	sandbox_return(&filter, SECCOMP_RET_ALLOW);
	sandbox_install(&filter);
}

#else

static void sandbox_filter_calls(void)
{
}

void rh_sandbox_close_files(void)
{
}

#endif

int rh_sandbox_enter(int parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return -1;
	/* what a terminal sends to the whole group is for the parent, which ends this process */
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	rh_limit_lower(RLIMIT_CORE, 0);
#ifndef RH_INSTRUMENTED /* sanitizers map terabytes, and write files at the end */
	rh_limit_lower(RLIMIT_AS, RH_PROBE_MEMORY_MAX);
	rh_limit_lower(RLIMIT_FSIZE, 0);
#endif
	sandbox_drop_capabilities();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	sandbox_filter_calls();
	return 0;
}
