#include "sandbox/plan/image_passwd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/own.h"
#include "sandbox/kernel/seccomp.h"

struct question {
	const char *name;
	uint32_t id;
};

struct answer {
	int is_found;
	struct account account;
};

/* --- the reading process --------------------------------------------------------------
 */

#ifdef __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_X86_64
#endif

#define WORD(field) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(k), yes, no)
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, (k))

/* Like SECCOMP_MODE_STRICT, which a process that is under a filter already, as
 * in a container, cannot enter. */
static int confine(void)
{
	const struct sock_filter insns[] = {
		WORD(arch),
		IS(OUR_ARCH, 0, 5),
		WORD(nr),
		IS(SYS_read, 4, 0),
		IS(SYS_write, 3, 0),
		IS(SYS_exit, 2, 0),
		IS(SYS_exit_group, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		RETURN(SECCOMP_RET_ALLOW),
	};
	const struct seccomp_program program = { .insns = insns,
						 .count = ARRAY_LEN(insns) };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return seccomp_install(&program, NULL);
}

/* If this process cannot be confined, it gives no answer. */
__attribute__((noreturn)) static void work(int fd, int to, const struct question *q)
{
	struct answer a = { 0 };

	if (dup2(fd, 0) < 0 || dup2(to, 1) < 0 || sys_close_range(2, ~0u, 0) < 0 ||
	    confine() < 0)
		_exit(1);
	a.is_found = account_read(0, q->name, q->id, &a.account);
	(void)io_write_all(1, &a, sizeof(a)); /* the parent may have gone */
	_exit(0);
}

/* --- the caller -----------------------------------------------------------------------
 */

static bool is_printable(const char text[ACCOUNT_TEXT])
{
	const char *end = memchr(text, '\0', ACCOUNT_TEXT);

	for (const char *at = text; end && at < end; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	return end;
}

static int check(const struct answer *a, struct account *ret, struct err *e)
{
	const struct account *found = &a->account;

	if (a->is_found == 0)
		return 0;
	if (a->is_found != 1 || found->id > ACCOUNT_MAX || found->group > ACCOUNT_MAX ||
	    !is_printable(found->name) || !is_printable(found->home) ||
	    (found->home[0] && found->home[0] != '/'))
		return err_set(e, ERR_REFUSED, "its line is not that of an account");
	*ret = *found;
	return 1;
}

int image_passwd_find(int fd, const char *name, uint32_t id, struct account *ret,
		  struct err *e)
{
	const struct question q = { name, id };
	struct answer a;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	AUTO_CLOSE int from = ends[0];
	AUTO_CLOSE int to = ends[1];
	pid_t pid = fork();
	if (pid == 0)
		work(fd, to, &q);
	own_close(&to);
	if (pid < 0)
		return err_sys(e, "fork");
	bool is_whole = io_read_full(from, &a, sizeof(a)) == (ssize_t)sizeof(a);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return is_whole ? check(&a, ret, e)
			: err_set(e, ERR_SYSTEM, "the process that was to read it ended");
}
