/* shell_quote -- writes a path as one line of text that bash reads as exactly that path.
 *
 * A path may hold any byte but NUL.  Valid UTF-8 without control characters stays as it
 * is; any other path becomes $'...' with escapes (bash(1), QUOTING). */
#pragma once

/* Returns the path as a line that bash reads as that path; the result is allocated. */
char *shell_quote_shown(const char *path);
