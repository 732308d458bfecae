#include "base/arena.h"

#include <errno.h>
#include <stdalign.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/err.h"

#define ALIGNMENT 16

/* The header in front of each block. */
struct block {
	alignas(ALIGNMENT) size_t size; /* bytes of the block without this header; a
					 * multiple of 16 */
};

static uint8_t *arena; /* NULL: it is not mapped yet */
static size_t used;
static bool is_closed;

static struct block *block_of(void *p)
{
	return (struct block *)p - 1;
}

static bool is_newest(const struct block *b)
{
	return (const uint8_t *)(b + 1) + b->size == arena + used;
}

/* Returns the size rounded up to a multiple of the alignment; `size` is less than
 * ARENA_LARGE. */
static size_t rounded(size_t size)
{
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	return size ? size : ALIGNMENT;
}

/* Returns whether the arena is mapped.  It is a mapping and not data of the program, since
 * execve(2) can only kill a program whose data is larger than RLIMIT_DATA or RLIMIT_AS. */
static bool is_mapped(void)
{
	if (arena)
		return true;
	void *at = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return false;
	/* A launch touches a few pages of the arena; a huge page would be zeroed whole.  The
	 * call fails where the kernel has no huge pages. */
	(void)madvise(at, ARENA_SIZE, MADV_NOHUGEPAGE);
	arena = at;
	return true;
}

/* Names the limit that has no room for the arena; without one, the system has none. */
static int refused(struct err *e)
{
	static const struct {
		int resource;
		const char *name;
		char flag; /* of ulimit of the shell */
	} limits[] = { { RLIMIT_DATA, "RLIMIT_DATA", 'd' },
		       { RLIMIT_AS, "RLIMIT_AS", 'v' } };
	const int sys = errno;
	struct rlimit has;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		/* The rest of the program takes less than another arena. */
		if (getrlimit(limits[i].resource, &has) < 0 ||
		    has.rlim_cur > 2 * ARENA_SIZE)
			continue;
		(void)err_set(
			e, ERR_LIMIT,
			"hutch needs %u MiB of memory for itself, and the limit %s is "
			"%llu KiB",
			ARENA_SIZE >> 20, limits[i].name,
			(unsigned long long)has.rlim_cur >> 10);
		return err_remedy(e,
				  "raise it: ulimit -%c unlimited; hutch run --ulimit "
				  "bounds a command of the sandbox alone",
				  limits[i].flag);
	}
	errno = sys;
	return err_sys(e, "map %u MiB of memory", ARENA_SIZE >> 20);
}

int arena_open(struct err *e)
{
	return is_mapped() ? 0 : refused(e);
}

void *arena_allocate(size_t size)
{
	if (is_closed || size >= ARENA_LARGE || !is_mapped() ||
	    sizeof(struct block) + rounded(size) > ARENA_SIZE - used)
		return NULL;

	struct block *b = (struct block *)(arena + used);
	*b = (struct block){ .size = rounded(size) };
	used += sizeof(*b) + b->size;
	return b + 1;
}

bool arena_grow(void *p, size_t size)
{
	struct block *b = block_of(p);

	if (size <= b->size)
		return true;
	if (!is_newest(b) || size >= ARENA_LARGE ||
	    rounded(size) - b->size > ARENA_SIZE - used)
		return false;
	used += rounded(size) - b->size;
	b->size = rounded(size);
	return true;
}

size_t arena_size_of(void *p)
{
	return block_of(p)->size;
}

bool arena_holds(const void *p)
{
	const uint8_t *at = p;

	return arena && at >= arena && at < arena + ARENA_SIZE;
}

void arena_release(void *p)
{
	const struct block *b = block_of(p);

	if (is_newest(b))
		used -= sizeof(*b) + b->size;
}

void arena_close(void)
{
	is_closed = true;
}
