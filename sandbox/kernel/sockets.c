#include "sandbox/kernel/sockets.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/own.h"

int sockets_refuse_unix(struct err *e)
{
	/* The filter does not check the architecture: the sandbox's own filter refuses
	 * system calls of a foreign architecture, and one refusal too many does no
	 * harm.  The family is an int, so the kernel ignores the upper half of the
	 * 64-bit argument.  The filter loads only the lower half, which comes first in
	 * memory on both architectures that hutch supports. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 5, 6),
		/* A socketpair(2) can send to other sockets' names only if it is of
		 * datagram sockets, which SOCK_RAW makes too; so pairs of SOCK_STREAM
		 * and SOCK_SEQPACKET are allowed. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		/* SOCK_TYPE_MASK: cuts off SOCK_CLOEXEC and SOCK_NONBLOCK */
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return err_sys(e, "refuse unix sockets");
	return 0;
}
