#include "sandbox/root/etc_folder.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/kernel.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "sandbox/kernel/mount_target.h"
#include "sandbox/plan/plan.h"

#define ETC	   "/etc"
#define COPY_MAX  (1 << 20) /* larger files remain mounts */
#define KEY_MAX	   (4 << 20) /* bytes; a plan with a longer key gets no prepared folder */
#define SHOWN	   (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* The part that a step of the plan gets in the prepared folder. */
enum part {
	PART_NONE,   /* the step has another place than /etc */
	PART_LINK,   /* the link itself */
	PART_FILE,   /* the file that the step writes */
	PART_COPY,   /* a copy of the file that the step mounts */
	PART_FOLDER, /* an empty folder, over which the step mounts */
	PART_PLACE,  /* an empty file, over which the step mounts */
	PART_NOT     /* the step does not go with a prepared folder */
};

void etc_folder_init(struct etc_folder *f)
{
	*f = (struct etc_folder){ .entry = ETC_ENTRY_NONE };
}

void etc_folder_done(struct etc_folder *f)
{
	etc_entry_done(&f->entry);
	own_free(&f->steps);
	own_free(&f->target);
}

/* --- the parts -------------------------------------------------------------------- */

static enum part part_of_bind(const struct step *s)
{
	/* Every user may read a file that is copied: the copy shows nothing that the
	 * mount would not show. */
	const bool is_open = s->is_public && s->size <= COPY_MAX;

	if (s->attr != SHOWN)
		return PART_NOT;
	return s->is_dir ? PART_FOLDER : is_open ? PART_COPY : PART_PLACE;
}

static enum part part_of(const struct step *s)
{
	const size_t len = sizeof(ETC) - 1;

	if (strncmp(s->target, ETC, len) != 0 || (s->target[len] && s->target[len] != '/'))
		return PART_NONE;
	if (s->from || !s->target[len])
		return PART_NOT;
	if (s->kind == STEP_BIND)
		return part_of_bind(s);
	if (s->kind == STEP_FILE)
		return s->is_own ? PART_PLACE : PART_FILE;
	return s->kind == STEP_SYMLINK ? PART_LINK : PART_NOT;
}

/* Tells whether the plan can have a prepared folder. */
static bool suits(const struct plan *p)
{
	size_t parts = 0;

	if (p->has_ranges || !p->count || p->steps[0].kind != STEP_ROOT)
		return false;
	for (size_t i = 0; i < p->count; i++) {
		const enum part part = part_of(&p->steps[i]);
		if (part == PART_NOT)
			return false;
		parts += part != PART_NONE;
	}
	return parts > 0;
}

/* --- the key ---------------------------------------------------------------------- */

/* Adds the boot to the key: a crash may leave an entry with empty files on a disk. */
static int add_boot(struct buffer *key)
{
	char id[64];
	AUTO_CLOSE int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t len = fd < 0 ? -1 : read(fd, id, sizeof(id));

	return len > 0 && buffer_append(key, id, (size_t)len) ? 0 : -1;
}

static bool add_text(struct buffer *key, const char *text)
{
	return buffer_append(key, text, strlen(text) + 1);
}

/* Adds what decides the content of this part, with 0 for what does not. */
static bool add_part(struct buffer *key, const struct step *s)
{
	const enum part part = part_of(s);
	const bool is_copy = part == PART_COPY;
	const bool is_own = part == PART_LINK || part == PART_FILE;
	const uint64_t numbers[] = { part,
				     is_own ? s->mode : 0,
				     is_copy ? s->dev : 0,
				     is_copy ? s->ino : 0,
				     is_copy ? (uint64_t)s->size : 0,
				     is_copy ? (uint64_t)s->changed_ns : 0 };

	if (part == PART_NONE)
		return true;
	return buffer_append(key, numbers, sizeof(numbers)) && add_text(key, s->target) &&
	       (!is_own || add_text(key, s->data));
}

/* Makes the key in `ret`, an empty buffer; -1: there is none. */
static int key_of(const struct plan *p, struct buffer *ret)
{
	bool fits = add_boot(ret) == 0;

	for (size_t i = 0; i < p->count && fits; i++)
		fits = add_part(ret, &p->steps[i]);
	return fits ? 0 : -1;
}

/* --- a new entry ------------------------------------------------------------------ */

/* Copies the host's file, which has to be the one that the plan has found. */
static int copy(const struct step *s, int to)
{
	AUTO_CLOSE int from = open(s->source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = 1;

	while (n > 0 && from >= 0)
		n = sendfile(to, from, NULL, COPY_MAX);
	if (from < 0 || n < 0 || fstat(from, &st) < 0)
		return -1;
	const bool is_same = st.st_dev == s->dev && st.st_ino == s->ino &&
			     st.st_size == s->size &&
			     clock_ns(&st.st_ctim) == s->changed_ns;
	return is_same ? 0 : -1;
}

static int make_file(int folder, const char *name, const struct step *s, enum part part)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(folder, name, flags, 0600);

	if (fd < 0 || fchmod(fd, part == PART_FILE ? s->mode : 0644) < 0)
		return -1;
	if (part == PART_FILE)
		return io_write_all(fd, s->data, strlen(s->data));
	return part == PART_COPY ? copy(s, fd) : 0;
}

static int make_part(struct targets *tree, const struct step *s)
{
	const enum part part = part_of(s);
	const char *name, *path = s->target + sizeof(ETC) - 1;
	struct err unused;

	if (part == PART_NONE)
		return 0;
	const int folder = mount_target_parent(tree, path, &name, &unused);
	if (folder < 0)
		return -1;
	if (part == PART_LINK)
		return symlinkat(s->data, folder, name);
	return part == PART_FOLDER ? mkdirat(folder, name, 0755)
				   : make_file(folder, name, s, part);
}

/* Fills the folder `root`, for the plan `arg`. */
static int fill(int root, const void *arg)
{
	const struct plan *p = arg;
	struct targets tree;
	int made = 0;

	targets_init(&tree, root);
	for (size_t i = 0; i < p->count && made == 0; i++)
		made = make_part(&tree, &p->steps[i]);
	targets_done(&tree);
	return made;
}

/* --- the plan --------------------------------------------------------------------- */

static void show(struct etc_folder *f, struct step *ret)
{
	f->target = text_copy(ETC);
	*ret = (struct step){ .kind = STEP_BIND,
			      .source = f->entry.tree,
			      .target = f->target,
			      .attr = SHOWN, /* layer: etc-readonly */
			      .dev = f->entry.dev,
			      .ino = f->entry.ino,
			      .is_dir = true,
			      .is_prepared = true };
}

/* Tells whether the step binds something over a place in the folder. */
static bool binds_over(const struct step *s)
{
	const enum part part = part_of(s);

	return s->kind == STEP_BIND && (part == PART_FOLDER || part == PART_PLACE);
}

static void add_placed(struct plan *p, const struct step *s)
{
	p->steps[p->count] = *s;
	p->steps[p->count++].is_placed = true;
}

/* Copies the steps, without those that the folder replaces.  In front of the first one in
 * /etc come the mount of the folder and the binds over its places. */
static void change(struct etc_folder *f, struct plan *p)
{
	const struct step *const old = p->steps;
	const size_t count = p->count;

	f->steps = mem_zeroed(count + 1, sizeof(*f->steps));
	p->steps = f->steps;
	p->count = 0;
	for (size_t i = 0; i < count; i++) {
		const enum part part = part_of(&old[i]);
		if (part != PART_NONE && !f->target) {
			show(f, &p->steps[p->count++]);
			for (size_t k = i; k < count; k++)
				if (binds_over(&old[k]))
					add_placed(p, &old[k]);
		}
		if (part == PART_NONE)
			p->steps[p->count++] = old[i];
		else if (part == PART_PLACE && old[i].kind == STEP_FILE)
			add_placed(p, &old[i]);
	}
}

/* Opens the entry of the key; if there is none, and `may_make`, makes it for the plan. */
static bool open_entry(struct etc_folder *f, const struct buffer *key,
		       const struct plan *p, bool may_make)
{
	return etc_entry_open(key, &f->entry) == 0 ||
	       (may_make && etc_entry_make(key, fill, p, &f->entry) == 0);
}

bool etc_folder_use(struct etc_folder *f, const struct plan *p, bool may_make,
		    struct plan *ret)
{
	struct buffer key;

	*ret = *p;
	if (!suits(p))
		return false;
	buffer_init(&key, KEY_MAX);
	const bool uses = key_of(p, &key) == 0 && open_entry(f, &key, p, may_make);
	if (uses)
		change(f, ret);
	buffer_done(&key);
	return uses;
}

void etc_folder_make(const struct plan *p)
{
	struct etc_folder f;
	struct plan unused;

	etc_folder_init(&f);
	(void)etc_folder_use(&f, p, true, &unused);
	etc_folder_done(&f);
}
