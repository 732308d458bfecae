/* bind_args -- folders and files of this host that Apptainer's words show inside. */
#pragma once
#include <stdbool.h>

struct action;
struct args;
struct err;

/* Shows a folder or file; `mode` is "ro" or "rw". */
int bind_args_show(struct args *a, const char *source, const char *target,
		   const char *mode, struct err *e);

/* Takes --bind: SRC[:DST[:ro|rw]], or several with commas between them. */
int bind_args_flag(struct args *a, const char *value, struct err *e);

/* Takes --home: SRC[:DST]; the variable HOME becomes DST. */
int bind_args_home(struct args *a, const char *value, struct err *e);
/* Shows the home that --home names, unless another flag leaves it out. */
int bind_args_show_home(struct action *a, struct err *e);

/* Takes --scratch: folders in memory, with commas between them. */
int bind_args_scratch(struct args *a, const char *value, struct err *e);

/* Adds an empty folder in memory, unless something else is shown there. */
void bind_args_add_memory(struct action *a, const char *target);

/* Shows the current folder at its own path, as Apptainer does.  Returns the path,
 * allocated; NULL: it is not shown.  These are not: the home of the user and a folder that
 * holds it, since secrets are there; a folder of the system, which the image has of its
 * own; and one that the user that the sandbox stands for may not enter. */
char *bind_args_current(struct action *a);
