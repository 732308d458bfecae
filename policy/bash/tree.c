#include "policy/bash/tree.h"

#include <stdlib.h>

#include "base/mem.h"
#include "policy/bash/parse.h"

#define BLOCK_SIZE 4096
#define ALIGN	   sizeof(void *)

struct bash_block {
	struct bash_block *next;
	size_t used, room;
	char bytes[] __attribute__((aligned(ALIGN)));
};

/* Returns uninitialised memory of the tree. */
static void *take(struct bash_tree *t, size_t size)
{
	struct bash_block *b = t->blocks;

	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!b || b->room - b->used < size) {
		size_t room = size > BLOCK_SIZE / 4 ? size : BLOCK_SIZE;
		struct bash_block *more = mem_new(sizeof(*more) + room);
		t->memory += room;
		*more = (struct bash_block){ .room = room };
		/* A large piece fills its block; the block that has room stays first. */
		if (b && room == size) {
			more->next = b->next;
			b->next = more;
		} else {
			more->next = b;
			t->blocks = more;
		}
		b = more;
	}
	b->used += size;
	return b->bytes + b->used - size;
}

/* Returns memory of the tree, and stops the parser once the tree is too large. */
static void *take_bounded(struct parser *p, size_t size)
{
	void *mine = take(p->tree, size);

	if (p->tree->memory > BASH_MEMORY)
		(void)parse_stop(p, "more text than hutch reads");
	return mine;
}

void *parse_memory(struct parser *p, size_t size)
{
	return memset(take_bounded(p, size), 0, size);
}

const char *parse_copy(struct parser *p, const char *bytes, size_t len)
{
	char *mine = take_bounded(p, len + 1);

	if (len)
		memcpy(mine, bytes, len);
	mine[len] = '\0';
	return mine;
}

bool parse_stop(struct parser *p, const char *why)
{
	struct bash_tree *t = p->tree;

	if (!t->why) {
		t->why = why;
		t->why_at = p->is_inner ? 0 : (size_t)(p->at - p->text);
	}
	p->at = p->end;
	return false;
}

bool parse_stop_open(struct parser *p)
{
	p->tree->is_open |= !p->tree->why;
	return parse_stop(p, "the end of the text in the middle of a construct");
}

bool parse_enter(struct parser *p)
{
	if (++p->depth > BASH_DEPTH)
		return parse_stop(p, "a construct that is nested too deep");
	return true;
}

struct bash_node *parse_inner(struct parser *p, const char *text, size_t len)
{
	struct parser inner = { .at = text,
				.end = text + len,
				.text = text,
				.tree = p->tree,
				.depth = p->depth,
				.substitutions = p->substitutions,
				.is_inner = true };
	struct bash_node *list = parse_text(&inner);

	if (parse_has_stopped(p))
		p->at = p->end;
	return list;
}

void bytes_put(struct bytes_out *b, const char *bytes, size_t len)
{
	if (b->len + len > b->room) {
		b->room = 2 * (b->len + len);
		b->at = mem_resize(b->at, b->room, 1);
	}
	if (len)
		memcpy(b->at + b->len, bytes, len);
	b->len += len;
}

void bash_parse(struct bash_tree *ret, const char *text, size_t len)
{
	*ret = (struct bash_tree){ 0 };
	/* bash's own texts end at a 0 byte. */
	const char *zero = memchr(text, 0, len);
	struct parser p = {
		.at = text, .end = zero ? zero : text + len, .text = text, .tree = ret
	};

	ret->list = parse_text(&p);
	if (zero)
		(void)parse_stop(&p, "a 0 byte");
}

void bash_tree_done(struct bash_tree *t)
{
	while (t->blocks) {
		struct bash_block *next = t->blocks->next;
		free(t->blocks);
		t->blocks = next;
	}
	*t = (struct bash_tree){ 0 };
}
