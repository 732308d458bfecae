/* env_script -- changes of the environment, as commands for a live bash.
 *
 * The functions that it calls are in the shell's start-up file (shell_rc.c).  A
 * variable is unset before it is set, so that attributes (-i, -u, -n, an array) do not
 * change the value.  A readonly variable stays as it is, and the shell says so in the
 * output of the command. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct variables;

/* The script for all changes that variables.h permits fits into this many bytes. */
#define ENV_SCRIPT_MAX (4u << 20)

/* Writes a script of the changes after change number `since`.  The script exits with 0 if
 * all of them were made. */
void env_script_write(struct buffer *to, const struct variables *v, uint64_t since);
