/* script -- changes of the environment, as commands for a live bash.
 *
 * The functions are in the shell's start-up file (shell.c).  A variable is unset
 * before it is set, so that attributes (-i, -u, -n, an array) make nothing else of the
 * value.  One that is readonly stays as it is, and the shell says so where its
 * command's output goes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct variables;

/* Whatever variables.h lets in fits into this. */
#define SCRIPT_MAX (4u << 20)

/* What is newer than change number `since`.  It ends with 0 if all of it was done. */
void script_write(struct buffer *to, const struct variables *v, uint64_t since);
