#include "bwrap/option_takes.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "bwrap/options.h"

/* The largest size of a tmpfs: half of the address space, as bwrap has it. */
#define SIZE_MOST (SIZE_MAX >> 1)

static int parse_mode(const struct reader *r, const char *text, int *ret, struct err *e)
{
	char *end;
	const unsigned long mode = strtoul(text, &end, 8);

	if (!isdigit((unsigned char)*text) || *end || mode > 07777)
		return err_set(e, ERR_USAGE, "%s takes an octal argument <= 07777",
			       r->option->name);
	*ret = (int)mode;
	return 0;
}

int take_perms(struct reader *r, struct err *e)
{
	if (r->perms >= 0)
		return err_set(e, ERR_USAGE, "--perms given twice for the same action");
	return parse_mode(r, r->words[0], &r->perms, e);
}

int take_size(struct reader *r, struct err *e)
{
	unsigned long long size;
	char *end;

	if (r->size != 0)
		return err_set(e, ERR_USAGE, "--size given twice for the same action");
	errno = 0;
	size = strtoull(r->words[0], &end, 0);
	if (errno != 0 || !isdigit((unsigned char)*r->words[0]) || *end || size == 0)
		return err_set(e, ERR_USAGE, "--size takes a non-zero number of bytes");
	if (size > SIZE_MOST)
		return err_set(e, ERR_USAGE, "--size (for tmpfs) is limited to %zu",
			       SIZE_MOST);
	r->size = (size_t)size;
	return 0;
}

static struct op *add_op(struct reader *r)
{
	struct args *a = r->args;

	if (a->op_count == a->op_room) {
		a->op_room = a->op_room ? a->op_room * 2 : 32;
		a->ops = mem_resize(a->ops, a->op_room, sizeof(*a->ops));
	}
	struct op *op = &a->ops[a->op_count++];
	*op = (struct op){ .kind = r->option->kind,
			   .option = r->option->name,
			   .words = r->words,
			   .target = r->words[r->option->count - 1],
			   .fd = -1,
			   .is_readonly = r->option->is_readonly,
			   .has_devices = r->option->has_devices,
			   .may_be_absent = r->option->may_be_absent,
			   .perms = r->option->perms };
	if (r->option->takes_perms && r->perms >= 0) {
		op->perms = r->perms;
		r->perms = -1;
	}
	if (r->option->takes_size) {
		op->size = r->size;
		r->size = 0;
	}
	return op;
}

int take_op(struct reader *r, struct err *e)
{
	(void)e;
	(void)add_op(r);
	return 0;
}

int take_fd_op(struct reader *r, struct err *e)
{
	const int fd = take_parse_fd(r->words[0], e);

	if (fd < 0)
		return -1;
	add_op(r)->fd = fd;
	return 0;
}

int take_chmod(struct reader *r, struct err *e)
{
	int mode = 0;

	if (parse_mode(r, r->words[0], &mode, e) < 0)
		return -1;
	add_op(r)->perms = mode;
	return 0;
}

int take_overlay_src(struct reader *r, struct err *e)
{
	r->sources++;
	return take_op(r, e);
}

int take_overlay(struct reader *r, struct err *e)
{
	if (r->sources < r->option->sources_min)
		return err_set(e, ERR_USAGE, "%s requires at least %s --overlay-src",
			       r->option->name,
			       r->option->sources_min == 1 ? "one" : "two");
	add_op(r)->sources = r->sources;
	r->sources = 0;
	return 0;
}
