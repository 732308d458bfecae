/* porter -- this host's end of a copy: the works of a party (party.h) that pack, unpack
 * or hand on a tar. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct outcome;

/* Files of the caller's, as the caller sees them. */
struct porter_pack {
	const char *path; /* borrowed */
	const char *as;	  /* "." for what is in it alone */
	bool follows;
	int out;
};
void porter_pack(void *arg, int leash, struct outcome *o);

/* A tar that the inside made, or anybody: in a jail (sandbox/jail.h). */
struct porter_unpack {
	int in;
	int folder;
	uid_t uid; /* the jail's, where root asks */
	gid_t gid;
	const char *rename; /* as unpack.h has it */
	uint64_t bytes_max, entries_max;
};
void porter_unpack(void *arg, int leash, struct outcome *o);

/* Bytes as they are. */
struct porter_pump {
	int in, out;
	const char *what; /* "stdin", "stdout": what may fail */
};
void porter_pump(void *arg, int leash, struct outcome *o);
