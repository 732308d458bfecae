/* copy_worker -- this host's side of a copy: the works of workers (base/worker.h) that pack,
 * unpack or pass on a tar.  Their results are struct outcome, which has the error, too. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Packs files of the host, with the caller's rights. */
struct copy_worker_pack {
	const char *path; /* borrowed */
	const char *as;	  /* the name in the tar; ".": the folder's content alone */
	bool follows;
	int out;
};
int copy_worker_pack(void *arg, void *outcome, struct err *e);

/* Unpacks a tar in a jail (sandbox/root/jail.h), since the inside or a stranger made
 * it. */
struct copy_worker_unpack {
	int in;
	int folder;
	int leash; /* the worker's */
	uid_t uid; /* the jail's user, if root calls */
	gid_t gid;
	const char *rename; /* as unpack.h has it */
	uint64_t bytes_max, entries_max;
};
int copy_worker_unpack(void *arg, void *outcome, struct err *e);

/* Copies bytes unchanged. */
struct copy_worker_pump {
	int in, out;
	const char *what; /* "stdin" or "stdout", for errors */
};
int copy_worker_pump(void *arg, void *outcome, struct err *e);
