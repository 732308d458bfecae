/* copy_worker -- this host's side of a copy: functions for worker processes
 * (base/worker.h) that pack, unpack or pass on a tar.  Their results are struct
 * outcome, which has the error, too. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Packs files of the host, with the caller's rights. */
struct copy_worker_pack {
	const char *path; /* borrowed */
	const char *as;	  /* the name that the file gets in the tar; ".": only the
			   * content of the folder is packed */
	bool follows;
	int out;
};
int copy_worker_pack(void *arg, void *outcome, struct err *e);

/* Unpacks a tar in a jail (sandbox/root/jail.h), since a process inside the sandbox
 * or a stranger made the tar. */
struct copy_worker_unpack {
	int in;
	int folder;
	int leash; /* the descriptor that the jail's process holds open, so that the
		    * parent can wait for its end (base/worker.h, `leash`) */
	uid_t uid; /* the user that the jail's process becomes, if root calls */
	gid_t gid;
	const char *rename; /* the name that replaces the first part of each name, as
			     * in unpack.h; NULL: none */
	uint64_t bytes_max, entries_max;
};
int copy_worker_unpack(void *arg, void *outcome, struct err *e);

/* Copies bytes unchanged between stdin or stdout and a pipe. */
struct copy_worker_pump {
	int in, out;
	const char *what; /* "stdin" or "stdout", for errors */
};
int copy_worker_pump(void *arg, void *outcome, struct err *e);
