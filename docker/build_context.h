/* build_context -- the context of a build whose Dockerfile comes from stdin: a folder with
 * nothing else in it. */
#pragma once

struct err;

/* Reads stdin to its end, and makes the folder; *ret_folder is allocated.  ERR_UNSUPPORTED:
 * stdin is an archive, which docker would unpack. */
int build_context_read(char **ret_folder, struct err *e);
/* Removes the folder, and frees its name; NULL is no folder. */
void build_context_remove(char *folder);
