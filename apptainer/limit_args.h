/* limit_args -- flags about limits and capabilities become hutch's.
 *
 * The values are judged here, so that an error names Apptainer's flag and comes before
 * all notes. */
#pragma once

struct args;
struct err;

int limit_args_memory(struct args *a, const char *value, struct err *e);
int limit_args_cpus(struct args *a, const char *value, struct err *e);
int limit_args_pids(struct args *a, const char *value, struct err *e);

/* Take capabilities with commas between them, each with or without CAP_. */
int limit_args_add_caps(struct args *a, const char *value, struct err *e);
int limit_args_drop_caps(struct args *a, const char *value, struct err *e);
int limit_args_no_privs(struct args *a, const char *value, struct err *e);
