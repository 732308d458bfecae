#include "executor/edit/editor_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/own.h"
#include "executor/edit/listing.h"
#include "protocol/action.h"

static bool view_folder(struct job *j)
{
	AUTO_CLOSE int fd = files_at(AT_FDCWD, j->path,
				     O_RDONLY | O_DIRECTORY | O_NONBLOCK);
	size_t hidden, cut;

	if (fd < 0)
		return editor_fail_sys(j, errno, "read");
	if (files_is_of_process(fd))
		return editor_fail_sys(j, EACCES, "read");
	if (*j->r->range)
		return EDITOR_FAIL(j, "Invalid `view_range` parameter: %s. The "
				   "`view_range` parameter is not allowed when "
				   "`path` points to a directory.", j->r->range);
	editor_say_format(j, "Here's the files and directories up to 2 levels deep "
			  "in %s, excluding hidden items:\n", j->path);
	listing_put(&j->say, fd, j->path, &hidden, &cut);
	j->cut += cut;
	if (hidden > 0)
		editor_say_format(j, "\n\n%zu hidden files/directories in this "
				  "directory are excluded. You can use 'ls -la %s' "
				  "to see them.", hidden, j->path);
	return true;
}

static bool fail_range(struct job *j, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static bool fail_range(struct job *j, const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	return EDITOR_FAIL(j, "Invalid `view_range` parameter: %s. %s", j->r->range,
			   why);
}

/* Parses view_range: the first line and the last, counted from 1. */
static bool get_range(struct job *j, int64_t count, int64_t range[2])
{
	if (!edit_range(j->r->range, range))
		return fail_range(j, "It should be a list of two integers.");
	if (count == 0)
		return fail_range(j, "The file is empty: it has no lines.");
	if (range[0] < 1 || range[0] > count)
		return fail_range(j, "Its first element `%jd` should be within the range "
				     "of lines of the file: [1, %jd].",
				  (intmax_t)range[0], (intmax_t)count);
	if (range[1] != -1 && range[1] < range[0])
		return fail_range(j, "Its second element `%jd` should be greater than or "
				     "equal to the first element `%jd`.",
				  (intmax_t)range[1], (intmax_t)range[0]);
	if (range[1] > count)
		editor_say_format(j, "NOTE: We only show up to %lld since there're "
				  "only %lld lines in this file.\n", (long
								      long)count,
				  (long long)count);
	return true;
}

static bool view_lines(struct job *j, struct bytes lines)
{
	int64_t range[2];

	if (!get_range(j, (int64_t)edit_count(lines), range))
		return false;
	size_t end = range[1] == -1 ? SIZE_MAX : (size_t)range[1];
	struct bytes some = edit_slice(lines, (size_t)range[0] - 1, end);
	/* Leaves out the newline that ends the last line. */
	some.len -= some.len > 0 && some.data[some.len - 1] == '\n';
	editor_show(j, some, (size_t)range[0]);
	return true;
}

static bool view_text(struct job *j, const struct file *f)
{
	if (*j->r->range)
		return view_lines(j, f->text.lines);
	editor_show(j, f->text.lines, 1);
	return true;
}

bool editor_view(struct job *j)
{
	const char *ending = edit_document(j->path);
	struct stat st;
	struct file f;

	if (files_stat(j->path, &st) == 0 && S_ISDIR(st.st_mode))
		return view_folder(j);
	if (ending)
		return EDITOR_FAIL(j, "The file %s (%s) cannot be shown by this "
				   "sandbox", j->path, ending);
	bool is_done = editor_load(j, &f, false) && view_text(j, &f);
	editor_file_done(&f);
	return is_done;
}
