#include "executor/edit/editor_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "executor/files/encoding.h"
#include "protocol/action.h"

void editor_say_bytes(struct job *j, const void *data, size_t len)
{
	(void)buffer_append(&j->say, data, len); /* cannot fail: SAY_MAX is more than any
						  * answer has */
}

void editor_say(struct job *j, const char *text)
{
	editor_say_bytes(j, text, strlen(text));
}

void editor_say_format(struct job *j, const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		abort(); /* out of memory: the process ends, as in mem.h */
	editor_say_bytes(j, text, (size_t)len);
	free(text);
}

void editor_begin_error(struct job *j)
{
	buffer_consume(&j->say, buffer_len(&j->say));
	buffer_consume(&j->diff, buffer_len(&j->diff));
	editor_say(j, "ERROR:\n");
}

bool editor_fail_sys(struct job *j, int sys, const char *doing)
{
	return EDITOR_FAIL(j, "Ran into [Errno %d] %s: '%s' while trying to %s %s",
			   sys, err_words(sys), j->path, doing, j->path);
}

bool editor_fail_path(struct job *j, const char *why)
{
	editor_begin_error(j);
	editor_say_format(j, "Invalid `path` parameter: %s. ", j->path);
	for (const char *at = why; *at; at++)
		if (*at == '@')
			editor_say(j, j->path);
		else
			editor_say_bytes(j, at, 1);
	return false;
}

bool editor_fail_missing(struct job *j, const char *parameter)
{
	return EDITOR_FAIL(j, "Parameter `%s` is required for command: %s.", parameter,
		    j->r->command);
}

bool editor_fail_file(struct job *j, const char *why)
{
	return EDITOR_FAIL(j, "File validation failed for %s: %s", j->path, why);
}

bool editor_fail_lacks(struct job *j, const struct encoding *encoding, uint32_t character)
{
	return EDITOR_FAIL(j, "Ran into U+%04X, which %s, the encoding of the file, does "
			   "not have, while trying to write to %s", character,
			   encoding_name(encoding), j->path);
}

bool editor_fail_size(struct job *j, uint64_t size)
{
	return EDITOR_FAIL(j, "File validation failed for %s: File is too large "
			   "(%.1fMB). Maximum allowed size is %uMB.", j->path,
			   (double)size / (1 << 20), ACTION_FILE_MAX >> 20);
}

bool editor_fail_gone(struct job *j)
{
	return editor_fail_path(j, "The path @ does not exist. Please provide a "
				"valid path.");
}

bool editor_fail_folder(struct job *j)
{
	return editor_fail_path(j, "The path @ is a directory and only the `view` "
				"command can be used on directories.");
}

bool editor_fail_result(struct job *j, struct result got, const char *doing)
{
	if (got.outcome == OUTCOME_NOT_FOUND)
		return editor_fail_gone(j);
	if (got.outcome == OUTCOME_IS_FOLDER)
		return editor_fail_folder(j);
	if (got.outcome == OUTCOME_NOT_REGULAR)
		return editor_fail_path(j, "The path @ is not a regular file, and "
					"no other can be viewed or edited.");
	return editor_fail_sys(j, got.sys, doing);
}

void editor_show(struct job *j, struct bytes lines, size_t first)
{
	editor_say_format(j, EDITOR_SHOWN "%s:\n", j->path);
	j->cut += edit_put_numbered(&j->say, lines, first);
}
