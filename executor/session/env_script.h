/* env_script -- changes of environment variables, as commands for a running bash.
 *
 * The functions that the commands call are in the shell's start-up file (shell_rc.c).  A
 * variable is unset before it is set, so that attributes of the old variable (declare -i,
 * -u, -n, an array) do not change the new value.  A readonly variable stays as it is, and
 * the shell says so in the output of the command. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct variables;

/* The size of the largest script: that of all changes that variables.h permits. */
#define ENV_SCRIPT_MAX (4u << 20)

/* Writes a script that makes all changes with numbers above `since`.  The script's exit
 * status is 0 if it has made all of them. */
void env_script_write(struct buffer *to, const struct variables *v, uint64_t since);
