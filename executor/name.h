/* name -- a path as one line that bash reads as that path.
 *
 * A path may hold any byte but NUL.  As it is where it is UTF-8 without control
 * characters; else as $'...' with escapes (bash(1), QUOTING). */
#pragma once

/* Allocated. */
char *name_shown(const char *path);
