/* sealed -- the program's own file, out of reach of containers.
 *
 * A process of a container could open /proc/PID/exe of a process of ours there, and write
 * to the file once it runs no more (runc CVE-2019-5736).  So verbs that enter a container
 * run from a read-only mount of the program's file, or from a sealed copy. */
#pragma once

struct err;

/* Executes the program again from such a file, with the arguments `argv`; returns 0 if it
 * runs from one already. */
int sealed_run(char **argv, struct err *e);

/* Finds another program of hutch's, in the folder of this one.  *ret is allocated. */
int sealed_find(const char *name, char **ret, struct err *e);
