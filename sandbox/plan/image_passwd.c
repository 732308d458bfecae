#include "sandbox/plan/image_passwd.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/kernel.h"
#include "base/own.h"
#include "base/worker.h"
#include "sandbox/kernel/seccomp.h"

struct question {
	int fd;
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

/* Confines this process to read, write and exit by a seccomp filter.
 * SECCOMP_MODE_STRICT would do the same, but a process that is under a filter
 * already, as in a container, cannot enter that mode. */
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

/* Runs in the child that reads the file.  Keeps no descriptors but the file, as
 * descriptor 0, and the pipe for the answer.  If the child cannot be confined, it exits
 * without an answer. */
static int set_up(void *arg, struct err *e)
{
	const struct question *q = arg;

	(void)e;
	if (dup2(q->fd, 0) < 0 || sys_close_range(1, 2, 0) < 0 || confine() < 0)
		_exit(1);
	return 0;
}

static int look(void *arg, void *result, struct err *e)
{
	const struct question *q = arg;
	struct answer *a = result;

	(void)e;
	a->is_found = account_read(0, q->name, q->id, &a->account);
	return 0;
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
	struct question q = { fd, name, id };
	const struct worker_task task = { .name = "the process that was to read it",
					  .setup = set_up,
					  .work = look,
					  .arg = &q,
					  .fds = { fd },
					  .fd_count = 1,
					  .result_len = sizeof(struct answer) };
	struct answer a;

	return worker_run(&task, &a, e) < 0 ? -1 : check(&a, ret, e);
}
