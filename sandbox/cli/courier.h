/* courier -- asks a sandbox to pack or unpack (copy.out, copy.in of docs/control.md) and
 * waits for the end of that.
 *
 * A process of its own (party.h): it may be another user than the one whose files are
 * copied, since root's sandboxes are somebody else's. */
#pragma once
#include <stdbool.h>

struct outcome;

struct courier {
	const char *sandbox; /* these are borrowed */
	const char *path;
	const char *name; /* of copy.in; may be NULL */
	bool packs;	  /* copy.out, else copy.in */
	bool follows;
	int tar;    /* the pipe's end that goes in; is closed then */
	int sentences; /* and the one for what the inside says */
};

/* Whether this sandbox is paused, asked by a process of its own for the same reason. */
bool courier_sees_pause(const char *sandbox);

/* The work of a party; `arg` is a struct courier. */
void courier_do(void *arg, int leash, struct outcome *o);
