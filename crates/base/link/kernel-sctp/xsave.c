/* Preloaded into linux.uml, which was built for the register state of older CPUs.
 *
 * The kernel takes the extended state of a traced process (PTRACE_SETREGSET, NT_X86_XSTATE) only whole. On a CPU with a larger
 * state than user-mode Linux knows of (AMX), what it sends is too short, the kernel refuses it, and the guest panics at
 * start. So: complete what is too short with zeros, marked as "in its initial state". */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define XSTATE 0x202             /* NT_X86_XSTATE */
#define XSTATE_BV 512            /* where the state says which components it holds */
#define FITS 0x2ffull            /* x87, SSE, AVX, MPX, AVX-512, PKRU: components within the size that UML knows */

long ptrace(enum __ptrace_request request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    pid_t pid = va_arg(arguments, pid_t);
    void *address = va_arg(arguments, void *);
    void *data = va_arg(arguments, void *);
    va_end(arguments);

    if (request == PTRACE_SETREGSET && (uintptr_t)address == XSTATE) {
        static unsigned char whole[65536] __attribute__((aligned(64)));
        static size_t whole_octets;
        struct iovec *given = data, state = { whole, sizeof whole };
        if (!whole_octets && !syscall(SYS_ptrace, PTRACE_GETREGSET, pid, address, &state))
            whole_octets = state.iov_len;
        if (whole_octets > given->iov_len) {
            uint64_t components;
            memcpy(whole, given->iov_base, given->iov_len);
            memset(whole + given->iov_len, 0, whole_octets - given->iov_len);
            memcpy(&components, whole + XSTATE_BV, sizeof components);
            components &= FITS;
            memcpy(whole + XSTATE_BV, &components, sizeof components);
            state.iov_len = whole_octets;
            return syscall(SYS_ptrace, request, pid, address, &state);
        }
    }
    /* As the C library does it: the system call for peeking stores the word, the function returns it. */
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        long word, result = syscall(SYS_ptrace, request, pid, address, &word);
        if (result < 0)
            return result;
        errno = 0;
        return word;
    }
    return syscall(SYS_ptrace, request, pid, address, data);
}
