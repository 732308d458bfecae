#include "oci/filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd_pass.h"
#include "base/json_write.h"
#include "base/list.h"
#include "base/own.h"
#include "oci/config.h"
#include "oci/fields.h"
#include "oci/link.h"
#include "oci/sealed.h"
#include "oci/state.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static const struct {
	const char *name;
	unsigned flag;
} flag_names[] = {
	/* The process has one thread, so there are none to synchronise. */
	{ "SECCOMP_FILTER_FLAG_TSYNC", 0 },
	{ "SECCOMP_FILTER_FLAG_LOG", SECCOMP_FILTER_FLAG_LOG },
	{ "SECCOMP_FILTER_FLAG_SPEC_ALLOW", SECCOMP_FILTER_FLAG_SPEC_ALLOW },
	{ "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",
	  SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV },
};

static int read_flag(const struct json_at *item, struct filter *f, struct err *e)
{
	const char *name;

	if (json_string(item, &name, e))
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(flag_names); i++)
		if (!strcmp(flag_names[i].name, name)) {
			f->flags |= flag_names[i].flag;
			return 0;
		}
	return err_set(e, ERR_USAGE, "%s: unknown flag '%.64s'", item->place, name);
}

static int read_flags(const struct json_at *at, struct filter *f, struct err *e)
{
	struct json_at array, item = { 0 };

	if (fields_text(at, "listenerPath", &f->listener, e) ||
	    fields_text(at, "listenerMetadata", &f->metadata, e))
		return -1;
	if (!json_member(at, "flags", &array))
		return 0;
	if (json_expect(&array, JSON_ARRAY, e))
		return -1;
	while (json_step(&array, &item))
		if (read_flag(&item, f, e))
			return -1;
	return 0;
}

static bool sends_to_listener(const struct seccomp_program *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->insns[i].code == (BPF_RET | BPF_K) &&
		    p->insns[i].k == SECCOMP_RET_USER_NOTIF)
			return true;
	return false;
}

/* Returns the cache's folder, allocated: that of this user's other hutch programs where
 * there is one. */
static char *cache_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		return text_format("%s/hutch/seccomp", cache);
	if (geteuid() == 0 && (!home || !strcmp(home, "/") || !strcmp(home, "/root")))
		return text_copy("/run/hutch-oci.seccomp");
	return home && *home == '/' ? text_format("%s/.cache/hutch/seccomp", home) : NULL;
}

int filter_read(const struct config *c, struct filter *ret, struct err *e)
{
	struct filter f = { .is_on = json_type(&c->seccomp) == JSON_OBJECT };

	if (f.is_on && read_flags(&c->seccomp, &f, e))
		return -1;
	*ret = f;
	return 0;
}

int filter_obtain(const struct config *c, struct filter *ret, struct err *e)
{
	struct filter f;
	AUTO_FREE char *compiler = NULL;
	AUTO_FREE char *cache = cache_folder();

	if (filter_read(c, &f, e))
		return -1;
	*ret = f;
	if (!f.is_on)
		return 0;
	if (sealed_find("hutch-seccomp", &compiler, e))
		return -1;
	struct seccomp_request request = { .cache_dir = cache, .compiler = compiler };
	request.whole = json_source(&c->seccomp, &request.whole_len);
	if (seccomp_obtain(&request, &f.program, e))
		return -1;
	/* A path alone asks for a listener, too: an agent may add filters later. */
	f.notifies = f.listener || sends_to_listener(&f.program);
	if (f.notifies && !f.listener) {
		seccomp_done(&f.program);
		return err_set(e, ERR_USAGE,
			       "linux.seccomp: SCMP_ACT_NOTIFY takes a "
			       "listenerPath");
	}
	*ret = f;
	return 0;
}

void filter_done(struct filter *f)
{
	seccomp_done(&f->program);
	*f = (struct filter){ 0 };
}

int filter_install(const struct filter *f, int link, struct err *e)
{
	const struct sock_fprog program = {
		.len = (unsigned short)f->program.count,
		.filter = (struct sock_filter *)f->program.insns,
	};
	unsigned flags = f->flags;

	if (!f->is_on)
		return 0;
	if (f->notifies)
		flags |= SECCOMP_FILTER_FLAG_NEW_LISTENER;
	else
		flags &= ~(unsigned)SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	AUTO_CLOSE int listener =
		(int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (listener < 0)
		return err_sys(e, "install linux.seccomp, %zu instructions",
			       f->program.count);
	if (!f->notifies) {
		listener = -1; /* 0 is success here, and no descriptor */
		return 0;
	}
	return link_send(link, LINK_LISTENER, 0, listener, e);
}

int filter_hand_on(const struct filter *f, int listener, const struct state *s, int pid,
		   struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	AUTO_FREE char *state = state_json(s, STATE_CREATING);
	struct buffer b;

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s", f->listener) >=
	    (int)sizeof(to.sun_path))
		return err_set(e, ERR_USAGE, "linux.seccomp.listenerPath: too long");
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return err_sys(e, "connect to linux.seccomp.listenerPath %s",
			       f->listener);
	json_write_begin(&b);
	json_write_open(&b, NULL, "{");
	json_write_text(&b, "ociVersion", s->version);
	json_write_open(&b, "fds", "[");
	json_write_text(&b, NULL, "seccompFd");
	json_write_close(&b, "]");
	json_write_number(&b, "pid", pid);
	json_write_text(&b, "metadata", f->metadata ? f->metadata : "");
	state[strcspn(state, "\n")] = '\0';
	json_write_raw(&b, "state", state);
	json_write_close(&b, "}");
	AUTO_FREE char *text = json_write_end(&b);
	return fd_pass_send(fd, text, strlen(text), &listener, 1) == (ssize_t)strlen(text)
		       ? 0
		       : err_sys(e, "send the seccomp listener to %s", f->listener);
}
