#include "sandbox/raw/raw_plan.h"

#include <linux/mount.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/term_escape.h"

#define ROOM_FIRST 32

static const char *const kind_names[] = {
	[RAW_BIND] = "bind",	   [RAW_MOUNT] = "mount",    [RAW_OVERLAY] = "overlay",
	[RAW_DIR] = "folder",	   [RAW_FILE] = "file",	     [RAW_DATA] = "data",
	[RAW_SYMLINK] = "link",	   [RAW_CHMOD] = "chmod",    [RAW_DEVICE] = "device",
	[RAW_REMOUNT] = "remount", [RAW_COVER] = "readonly", [RAW_MASK] = "mask",
};
_Static_assert(ARRAY_LEN(kind_names) == RAW_KIND_COUNT, "a step has no name");

void raw_plan_init(struct raw_plan *p)
{
	*p = (struct raw_plan){ 0 };
}

static void step_done(struct raw_step *s)
{
	own_free(&s->target);
	own_free(&s->source);
	own_close(&s->fd);
	own_free(&s->type);
	own_free(&s->data);
	list_done(&s->lowers);
	own_free(&s->upper);
	own_free(&s->work);
	own_close(&s->userns);
}

void raw_plan_done(struct raw_plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		step_done(&p->steps[i]);
	own_free(&p->steps);
	p->count = p->room = 0;
}

/* Returns "/a/b" for "a//b/./": the form that mount_target.h expects.  ".." stays, for
 * the kernel to resolve. */
static char *normalise(const char *path)
{
	char *to = mem_new(strlen(path) + 2), *end = to;

	for (const char *part = path; *part;) {
		const size_t len = strcspn(part, "/");
		if (len > 0 && !(len == 1 && *part == '.')) {
			*end++ = '/';
			memcpy(end, part, len);
			end += len;
		}
		part += len + (part[len] == '/');
	}
	if (end == to)
		*end++ = '/';
	*end = '\0';
	return to;
}

struct raw_step *raw_plan_add(struct raw_plan *p, enum raw_kind kind, const char *target)
{
	if (p->count == p->room) {
		p->room = p->room ? 2 * p->room : ROOM_FIRST;
		p->steps = mem_resize(p->steps, p->room, sizeof(*p->steps));
	}
	struct raw_step *s = &p->steps[p->count++];

	*s = (struct raw_step){ .kind = kind, .fd = -1, .userns = -1 };
	s->target = normalise(target);
	return s;
}

static void print_text(FILE *to, const char *before, const char *text)
{
	if (!text)
		return;
	AUTO_FREE char *line = term_escape_line(text);
	(void)fprintf(to, " %s%s", before, line);
}

static void print_flags(FILE *to, const struct raw_flags *f)
{
	static const struct {
		uint64_t flag;
		const char *name;
	} names[] = {
		{ MOUNT_ATTR_RDONLY, "ro" },
		{ MOUNT_ATTR_NOSUID, "nosuid" },
		{ MOUNT_ATTR_NODEV, "nodev" },
		{ MOUNT_ATTR_NOEXEC, "noexec" },
		{ MOUNT_ATTR_NOSYMFOLLOW, "nosymfollow" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (f->set & names[i].flag)
			(void)fprintf(to, " %s", names[i].name);
}

static void print_step(const struct raw_step *s, FILE *to)
{
	(void)fprintf(to, "%-9s", kind_names[s->kind]);
	print_text(to, "", s->target);
	print_text(to, s->kind == RAW_SYMLINK ? "-> " : "<- ", s->source);
	if (s->fd >= 0)
		(void)fprintf(to, " <- descriptor %d", s->fd);
	for (size_t i = 0; i < s->lowers.count; i++)
		print_text(to, "<- ", s->lowers.items[i]);
	print_text(to, "upper ", s->upper);
	print_text(to, "", s->type);
	print_text(to, "", s->data);
	print_flags(to, &s->flags);
	print_flags(to, &s->tree_flags);
	if (s->mode)
		(void)fprintf(to, " %04o", (unsigned)(s->mode & 07777));
	(void)fputc('\n', to);
}

void raw_plan_print(const struct raw_plan *p, FILE *to)
{
	if (p->root) {
		(void)fprintf(to, "%-9s", "root");
		print_text(to, "/ <- ", p->root);
		(void)fputc('\n', to);
	} else {
		(void)fprintf(to, "%-9s / tmpfs\n", "root");
	}
	for (size_t i = 0; i < p->count; i++)
		print_step(&p->steps[i], to);
	if (p->is_root_readonly)
		(void)fprintf(to, "%-9s /\n", "seal");
}
