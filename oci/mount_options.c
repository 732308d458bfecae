#include "oci/mount_options.h"

#include <linux/mount.h>
#include <stdlib.h>
#include <string.h>
/* glibc's <sys/mount.h> would declare the constants of <linux/mount.h> again. */
#define PROPAGATE_REC	     0x4000ul
#define PROPAGATE_UNBINDABLE (1ul << 17)
#define PROPAGATE_PRIVATE    (1ul << 18)
#define PROPAGATE_SLAVE	     (1ul << 19)
#define PROPAGATE_SHARED     (1ul << 20)

#include "base/list.h"
#include "base/own.h"
#include "oci/config.h"
#include "sandbox/raw/raw_plan.h"

enum word_kind {
	WORD_NONE,	  /* has no effect: a default */
	WORD_SET,	  /* sets a flag of the mount */
	WORD_CLEAR,	  /* clears a flag; a new mount has none */
	WORD_TIME,	  /* sets one of the modes of access times */
	WORD_PROPAGATION, /* the mount's propagation */
	WORD_SUPER,	  /* a flag of the file system, which a bind does not change */
	WORD_OTHER,
};

struct word {
	const char *name;
	enum word_kind kind;
	unsigned long value;
};

enum other { BIND, RBIND, REMOUNT, COPY_UP, IDMAP, RIDMAP, NO_FOLLOW };

/* Flags also exist with an "r" in front, for the mount and those below it. */
static const struct word words[] = {
	{ "ro", WORD_SET, MOUNT_ATTR_RDONLY },
	{ "rw", WORD_CLEAR, MOUNT_ATTR_RDONLY },
	{ "nosuid", WORD_SET, MOUNT_ATTR_NOSUID },
	{ "suid", WORD_CLEAR, MOUNT_ATTR_NOSUID },
	{ "nodev", WORD_SET, MOUNT_ATTR_NODEV },
	{ "dev", WORD_CLEAR, MOUNT_ATTR_NODEV },
	{ "noexec", WORD_SET, MOUNT_ATTR_NOEXEC },
	{ "exec", WORD_CLEAR, MOUNT_ATTR_NOEXEC },
	{ "nodiratime", WORD_SET, MOUNT_ATTR_NODIRATIME },
	{ "diratime", WORD_CLEAR, MOUNT_ATTR_NODIRATIME },
	{ "nosymfollow", WORD_SET, MOUNT_ATTR_NOSYMFOLLOW },
	{ "symfollow", WORD_CLEAR, MOUNT_ATTR_NOSYMFOLLOW },
	{ "noatime", WORD_TIME, MOUNT_ATTR_NOATIME },
	{ "atime", WORD_TIME, MOUNT_ATTR_RELATIME },
	{ "relatime", WORD_TIME, MOUNT_ATTR_RELATIME },
	{ "norelatime", WORD_TIME, MOUNT_ATTR_STRICTATIME },
	{ "strictatime", WORD_TIME, MOUNT_ATTR_STRICTATIME },
	{ "nostrictatime", WORD_TIME, MOUNT_ATTR_RELATIME },
	{ "private", WORD_PROPAGATION, PROPAGATE_PRIVATE },
	{ "rprivate", WORD_PROPAGATION, PROPAGATE_PRIVATE | PROPAGATE_REC },
	{ "slave", WORD_PROPAGATION, PROPAGATE_SLAVE },
	{ "rslave", WORD_PROPAGATION, PROPAGATE_SLAVE | PROPAGATE_REC },
	{ "shared", WORD_PROPAGATION, PROPAGATE_SHARED },
	{ "rshared", WORD_PROPAGATION, PROPAGATE_SHARED | PROPAGATE_REC },
	{ "unbindable", WORD_PROPAGATION, PROPAGATE_UNBINDABLE },
	{ "runbindable", WORD_PROPAGATION, PROPAGATE_UNBINDABLE | PROPAGATE_REC },
	{ "sync", WORD_SUPER, 0 },
	{ "dirsync", WORD_SUPER, 0 },
	{ "lazytime", WORD_SUPER, 0 },
	{ "mand", WORD_SUPER, 0 },
	{ "async", WORD_NONE, 0 },
	{ "nomand", WORD_NONE, 0 },
	{ "nolazytime", WORD_NONE, 0 },
	{ "silent", WORD_NONE, 0 },
	{ "loud", WORD_NONE, 0 },
	{ "iversion", WORD_NONE, 0 },
	{ "noiversion", WORD_NONE, 0 },
	{ "acl", WORD_NONE, 0 },
	{ "defaults", WORD_NONE, 0 },
	{ "bind", WORD_OTHER, BIND },
	{ "rbind", WORD_OTHER, RBIND },
	{ "remount", WORD_OTHER, REMOUNT },
	{ "tmpcopyup", WORD_OTHER, COPY_UP },
	{ "idmap", WORD_OTHER, IDMAP },
	{ "ridmap", WORD_OTHER, RIDMAP },
	{ "dest-nofollow", WORD_OTHER, NO_FOLLOW },
};

static const struct word *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

static bool has_tree_form(const struct word *w)
{
	return w->kind == WORD_SET || w->kind == WORD_CLEAR || w->kind == WORD_TIME;
}

char *mount_options_source(const struct config_mount *m, const char *bundle)
{
	return m->source[0] == '/' ? text_copy(m->source)
				   : text_format("%s/%s", bundle, m->source);
}

void mount_options_each(void (*does)(const char *word, void *arg), void *arg)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		does(words[i].name, arg);
		if (!has_tree_form(&words[i]))
			continue;
		AUTO_FREE char *tree = text_format("r%s", words[i].name);
		does(tree, arg);
	}
}

static void set_other(enum other which, struct mount_options *o, struct raw_step *step)
{
	o->is_bind = o->is_bind || which == BIND || which == RBIND;
	o->is_tree = o->is_tree || which == RBIND;
	o->is_remount = o->is_remount || which == REMOUNT;
	o->copies_up = o->copies_up || which == COPY_UP;
	o->is_idmapped = o->is_idmapped || which == IDMAP || which == RIDMAP;
	o->is_tree_idmapped = o->is_tree_idmapped || which == RIDMAP;
	step->follows_no_link = step->follows_no_link || which == NO_FOLLOW;
}

/* A flag of the same kind that stands later wins. */
static void set_flag(const struct word *w, struct raw_flags *f)
{
	switch (w->kind) {
	case WORD_SET:
		f->set |= w->value;
		f->clear &= ~w->value;
		break;
	case WORD_CLEAR:
		f->clear |= w->value;
		f->set &= ~w->value;
		break;
	case WORD_TIME:
		f->clear |= MOUNT_ATTR__ATIME;
		f->set = (f->set & ~(unsigned long)MOUNT_ATTR__ATIME) | w->value;
		break;
	case WORD_NONE:
	case WORD_PROPAGATION:
	case WORD_SUPER:
	case WORD_OTHER:
		break;
	}
}

void mount_options_read(const struct config_mount *m, struct mount_options *ret,
			struct raw_step *step)
{
	struct mount_options o = { .is_bind = m->type && !strcmp(m->type, "bind") };
	struct list data = { 0 };

	for (size_t i = 0; i < m->options.count; i++) {
		const char *name = m->options.items[i];
		const struct word *w = find(name);
		const struct word *tree = !w && *name == 'r' ? find(name + 1) : NULL;
		if (w && w->kind == WORD_OTHER)
			set_other((enum other)w->value, &o, step);
		else if (w && w->kind == WORD_PROPAGATION)
			step->propagation = w->value;
		else if (w && w->kind != WORD_SUPER)
			set_flag(w, &step->flags);
		else if (tree && has_tree_form(tree))
			set_flag(tree, &step->tree_flags);
		else
			list_add(&data, name);
	}
	/* A bind keeps the flags of its source; `rw` and the like ask for nothing there,
	 * and in a user namespace the kernel refuses to clear what was set outside. */
	if (o.is_bind && !o.is_remount)
		step->flags.clear &= MOUNT_ATTR__ATIME;
	o.data = data.count ? list_join(&data, 0, ",") : NULL;
	list_done(&data);
	*ret = o;
}
