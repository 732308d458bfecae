#include "bwrap/option_takes.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>

#include "base/err.h"
#include "bwrap/options.h"
#include "sandbox/kernel/caps.h"

static void *field_of(const struct reader *r)
{
	return (char *)r->args + r->option->field;
}

static void warn_of_last(struct reader *r)
{
	list_addf(&r->args->warnings, "Only the last %s option will take effect",
		  r->option->name);
}

/* Parses a decimal number without a sign.  Returns -1 if it is none, or above `max`. */
static int64_t parse_number(const char *text, int64_t max)
{
	int64_t value = 0;

	if (!*text)
		return -1;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text))
			return -1;
		value = value * 10 + (*text - '0');
		if (value > max)
			return -1;
	}
	return value;
}

int take_parse_fd(const char *text, struct err *e)
{
	const int64_t fd = parse_number(text, INT_MAX);

	return fd < 0 ? err_set(e, ERR_USAGE, "Invalid fd: %.60s", text) : (int)fd;
}

int take_flag(struct reader *r, struct err *e)
{
	(void)e;
	*(bool *)field_of(r) = true;
	return 0;
}

/* Both forms of user and cgroup are tries, since not each kernel has them. */
int take_all(struct reader *r, struct err *e)
{
	struct args *a = r->args;

	(void)e;
	a->unshare_user_try = a->unshare_ipc = a->unshare_pid = a->unshare_uts = true;
	a->unshare_cgroup_try = a->unshare_net = true;
	return 0;
}

int take_share_net(struct reader *r, struct err *e)
{
	(void)e;
	r->args->unshare_net = false;
	return 0;
}

int take_text(struct reader *r, struct err *e)
{
	const char **text = field_of(r);

	(void)e;
	if (*text)
		warn_of_last(r);
	*text = r->words[0];
	return 0;
}

int take_argv0(struct reader *r, struct err *e)
{
	if (r->args->argv0)
		return err_set(e, ERR_USAGE, "--argv0 used multiple times");
	return take_text(r, e);
}

int take_fd(struct reader *r, struct err *e)
{
	const int fd = take_parse_fd(r->words[0], e);
	int *ret = field_of(r);

	if (fd < 0)
		return -1;
	if (*ret >= 0)
		warn_of_last(r);
	*ret = fd;
	return 0;
}

int take_seccomp(struct reader *r, struct err *e)
{
	if (r->args->filters.count > 0)
		return err_set(e, ERR_USAGE,
			       "--seccomp cannot be combined with --add-seccomp-fd");
	return take_fd(r, e);
}

int take_add_seccomp(struct reader *r, struct err *e)
{
	if (r->args->seccomp >= 0)
		return err_set(e, ERR_USAGE,
			       "--add-seccomp-fd cannot be combined with --seccomp");
	const int fd = take_parse_fd(r->words[0], e);
	return fd < 0 ? -1 : filters_read(&r->args->filters, fd, e);
}

int take_id(struct reader *r, struct err *e)
{
	const int64_t id = parse_number(r->words[0], UINT32_MAX - 1);
	int64_t *ret = field_of(r);

	if (id < 0)
		return err_set(e, ERR_USAGE, "Invalid %s: %.60s", r->option->name + 2,
			       r->words[0]);
	if (*ret >= 0)
		warn_of_last(r);
	*ret = id;
	return 0;
}

int take_lock(struct reader *r, struct err *e)
{
	(void)e;
	list_add(&r->args->locks, r->words[0]);
	return 0;
}

/* Returns the capabilities that a name means, in *ret. */
static int parse_caps(const char *name, uint64_t *ret, struct err *e)
{
	int number;

	*ret = UINT64_MAX;
	if (!strcasecmp(name, "ALL"))
		return 0;
	number = caps_parse(name, e);
	if (number < 0) {
		(void)err_set(e, ERR_USAGE, "unknown cap: %.60s", name);
		return err_remedy(e, "capabilities(7) has their names, such as CAP_KILL");
	}
	*ret = 1ull << number;
	return 0;
}

int take_cap_add(struct reader *r, struct err *e)
{
	uint64_t caps;

	if (parse_caps(r->words[0], &caps, e) < 0)
		return -1;
	r->args->caps |= caps;
	r->args->has_caps = true;
	return 0;
}

int take_cap_drop(struct reader *r, struct err *e)
{
	uint64_t caps;

	if (parse_caps(r->words[0], &caps, e) < 0)
		return -1;
	r->args->caps &= ~caps;
	r->args->has_caps = true;
	return 0;
}

int take_label(struct reader *r, struct err *e)
{
	(void)r;
	(void)err_set(e, ERR_UNSUPPORTED, "%s: labeling not supported on this system",
		      r->option->name);
	return err_remedy(e,
			  "hutch sets no labels of SELinux; run the command without %s",
			  r->option->name);
}

int take_clearenv(struct reader *r, struct err *e)
{
	(void)r;
	return clearenv() == 0 ? 0 : err_sys(e, "clearenv failed");
}

int take_setenv(struct reader *r, struct err *e)
{
	(void)r;
	if (setenv(r->words[0], r->words[1], 1) < 0)
		return err_sys(e, "setenv failed: %.60s", r->words[0]);
	return 0;
}

int take_unsetenv(struct reader *r, struct err *e)
{
	(void)r;
	if (unsetenv(r->words[0]) < 0)
		return err_sys(e, "unsetenv failed: %.60s", r->words[0]);
	return 0;
}

int take_help(struct reader *r, struct err *e)
{
	(void)e;
	r->args->wish = ARGS_HELP;
	return 0;
}

int take_version(struct reader *r, struct err *e)
{
	(void)e;
	r->args->wish = ARGS_VERSION;
	return 0;
}
