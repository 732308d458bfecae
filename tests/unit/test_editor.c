/* editor: the answers of a real executor about real files in a folder of the test.
 * Here the texts are rows; tests/run compares them with texts recorded from
 * OpenHands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/edit/diff.h"
#include "executor/edit/edit.h"
#include "tests/unit/actor.h"
#include "tests/unit/at_home.h"

/* Sends a request about a file below the home folder, or with an absolute path.  The
 * answer has the text and the diff apart. */
static struct act ask(struct edit_request r)
{
	AUTO_FREE char *path = *r.path == '/' ? text_copy(r.path)
					      : text_format("%s/%s", a.home, r.path);

	r.path = path;
	return actor_edit(&a, r);
}

static struct edit_request request(const char *command, const char *path)
{
	return (struct edit_request){ .command = command, .path = path };
}

static struct edit_request replacing(const char *path, const char *old, const char *new)
{
	struct edit_request r = request("str_replace", path);

	r.flags = EDIT_OLD_STR | EDIT_NEW_STR;
	r.old_str = bytes_of(old);
	r.new_str = bytes_of(new);
	return r;
}

static struct edit_request inserting(const char *path, const char *line, const char *new)
{
	struct edit_request r = request("insert", path);

	r.flags = EDIT_LINE | EDIT_NEW_STR;
	r.line = line;
	r.new_str = bytes_of(new);
	return r;
}

static struct edit_request creating(const char *path, const char *text)
{
	struct edit_request r = request("create", path);

	r.flags = EDIT_FILE_TEXT;
	r.file_text = bytes_of(text);
	return r;
}

/* Returns the answer's text, with "~" for the home. */
static char *said(struct act *x)
{
	char *text = mem_zeroed(x->edited.text_len + 1, 1), *at;
	size_t home = strlen(a.home);

	memcpy(text, x->content, x->edited.text_len);
	while ((at = strstr(text, a.home))) {
		memmove(at + 1, at + home, strlen(at + home) + 1);
		*at = '~';
	}
	return text;
}

static void says(struct edit_request r, const char *expected)
{
	struct act x = ask(r);
	AUTO_FREE char *text = said(&x);

	if (strcmp(text, expected) != 0)
		fail_msg("%s %s: '%s' instead of '%s'", r.command, r.path, text,
			 expected);
	act_done(&x);
}

static void begins(struct edit_request r, const char *expected)
{
	struct act x = ask(r);
	AUTO_FREE char *text = said(&x);

	if (strncmp(text, expected, strlen(expected)) != 0)
		fail_msg("%s %s: '%.300s' instead of '%s'", r.command, r.path, text,
			 expected);
	act_done(&x);
}

#define SHOWN "Here's the result of running `cat -n` on "
#define EDITED "The file ~/f has been edited. "

static void test_crlf_mark_and_mode_are_kept_by_every_edit(void **state)
{
	struct stat st;

	(void)state;
	put_text("f", "\xef\xbb\xbfone\r\ntwo\r\nthree");
	assert_int_equal(chmod("f", 0751), 0);
	says(request("view", "f"),
	     SHOWN "~/f:\n     1\tone\n     2\ttwo\n     3\tthree\n");
	begins(replacing("f", "one\ntwo", "1\n2"), EDITED);
	check_file("f", "\xef\xbb\xbf" "1\r\n2\r\nthree");
	begins(inserting("f", "1", "x"), EDITED);
	check_file("f", "\xef\xbb\xbf" "1\r\nx\r\n2\r\nthree");
	begins(inserting("f", "4", "end"), EDITED);
	check_file("f", "\xef\xbb\xbf" "1\r\nx\r\n2\r\nthree\r\nend\r\n");
	for (int i = 0; i < 3; i++)
		begins(request("undo_edit", "f"),
		       "Last edit to ~/f undone successfully. ");
	check_file("f", "\xef\xbb\xbfone\r\ntwo\r\nthree");
	says(request("undo_edit", "f"), "ERROR:\nNo edit history found for ~/f.");
	assert_int_equal(stat("f", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0751);
}

static void test_a_file_that_was_created_has_nothing_to_undo(void **state)
{
	(void)state;
	says(creating("f", "one\n"), "File created successfully at: ~/f");
	says(request("undo_edit", "f"), "ERROR:\nNo edit history found for ~/f.");
	begins(replacing("f", "one", "two"), EDITED);
	assert_int_equal(unlink("f"), 0);
	says(creating("f", "new\n"), "File created successfully at: ~/f");
	says(request("undo_edit", "f"), "ERROR:\nNo edit history found for ~/f.");
	check_file("f", "new\n");
}

static void test_an_empty_file_has_no_impossible_range(void **state)
{
	struct edit_request r = request("view", "f");

	(void)state;
	put_text("f", "");
	r.range = "[1, 1]";
	says(r,
	     "ERROR:\nInvalid `view_range` parameter: [1, 1]. The file is empty: it has no "
	     "lines.");
	says(request("view", "f"), SHOWN "~/f:\n     1\t\n");
	says(inserting("f", "1", "x"),
	     "ERROR:\nInvalid `insert_line` parameter: 1. It should be "
	     "within the range of allowed values: [0, 0]");
	says(replacing("f", "", "x"), EDITED SHOWN
	     "a snippet of ~/f:\n     1\tx\n"
	     "Review the changes and make sure they are as expected. Edit the file again if "
	     "necessary.");
	check_file("f", "x");
}

static void test_a_view_of_lines_has_none_behind_the_last(void **state)
{
	struct edit_request r = request("view", "f");

	(void)state;
	put_text("f", "1\n2\n");
	r.range = "[1, -1]";
	says(r, SHOWN "~/f:\n     1\t1\n     2\t2\n");
	r.range = "[2, 2]";
	says(r, SHOWN "~/f:\n     2\t2\n");
	r.range = "[2, -5]";
	says(r,
	     "ERROR:\nInvalid `view_range` parameter: [2, -5]. Its second element `-5` should "
	     "be greater than or equal to the first element `2`.");
	r.range = "[1, 'x']";
	says(r,
	     "ERROR:\nInvalid `view_range` parameter: [1, 'x']. It should be a list of two "
	     "integers.");
	put_text("f", "1\n\n\n");
	r.range = "[1, 3]";
	says(r, SHOWN "~/f:\n     1\t1\n     2\t\n     3\t\n");
}

static void test_blanks_around_are_taken_off_where_it_helps(void **state)
{
	(void)state;
	put_text("f", "a b\nc\n");
	says(replacing("f", " \n\tb\xc2\xa0", "\nB\n"), EDITED SHOWN
	     "a snippet of ~/f:\n     1\ta B\n     2\tc\n     3\t\nReview the changes "
	     "and make sure they are as expected. Edit the file again if necessary.");
	check_file("f", "a B\nc\n");
	says(replacing("f", " x ", "y"),
	     "ERROR:\nNo replacement was performed, old_str `x` did not appear verbatim in ~/f.");
	says(replacing("f", " \n ", "y"),
	     "ERROR:\nNo replacement was performed. Multiple occurrences of old_str `` in lines "
	     "[1, 2, 3]. Please ensure it is unique.");
}

static void test_requests_in_the_wrong_words_are_refused(void **state)
{
	struct edit_request r = request("insert", "f");

	(void)state;
	put_text("f", "x\n");
	says(request("fly", "f"),
	     "ERROR:\nUnrecognized command fly. The allowed commands for the oh_editor tool are: "
	     "view, create, str_replace, insert, undo_edit");
	says(inserting("none", "x", "y"),
	     "ERROR:\nInvalid insert_line value: 'x'. Expected an integer.");
	says(r, "ERROR:\nParameter `insert_line` is required for command: insert.");
	r.flags = EDIT_LINE;
	r.line = "1";
	says(r, "ERROR:\nParameter `new_str` is required for command: insert.");
	says(request("create", "g"),
	     "ERROR:\nParameter `file_text` is required for command: "
	     "create.");
	assert_int_equal(access("g", F_OK), -1);
}

static void test_a_path_that_is_not_absolute_gets_a_hint(void **state)
{
	struct edit_request r = request("view", "./f");

	(void)state;
	struct act x = actor_edit(&a, r);
	AUTO_FREE char *none = said(&x);
	act_done(&x);
	assert_string_equal(none,
			    "ERROR:\nInvalid `path` parameter: f. The path should be an "
			    "absolute path, starting with `/`.");
	put_text("f", "x");
	x = actor_edit(&a, r);
	AUTO_FREE char *hint = said(&x);
	act_done(&x);
	assert_string_equal(hint,
			    "ERROR:\nInvalid `path` parameter: f. The path should be an "
			    "absolute path, starting with `/`. Maybe you meant ~/f?");
}

/* The editor refuses each of these without waiting, and the error tells what the
 * file is. */
static void test_a_file_that_is_no_text_is_refused(void **state)
{
	static const struct {
		const char *path, *says;
	} rows[] = {
		{ "nul",
		  "File validation failed for ~/nul: File appears to be binary and this "
		  "file type cannot be read or edited by this tool." },
		{ "odd", "File validation failed for ~/odd: File is not valid UTF-16LE "
			 "(position 4)." },
		{ "wide",
		  "File validation failed for ~/wide: File appears to be binary and this "
		  "file type cannot be read or edited by this tool." },
		{ "large",
		  "File validation failed for ~/large: File is too large (11.0MB). "
		  "Maximum allowed size is 10MB." },
		{ "fifo",
		  "Invalid `path` parameter: ~/fifo. The path ~/fifo is not a regular "
		  "file, and no other can be viewed or edited." },
		{ "/dev/zero",
		  "Invalid `path` parameter: /dev/zero. The path /dev/zero is not a "
		  "regular file, and no other can be viewed or edited." },
		{ "/proc/self/environ", "Ran into [Errno 13] Permission denied: "
					"'/proc/self/environ' while trying to read "
					"/proc/self/environ" },
		{ "loop",
		  "Invalid `path` parameter: ~/loop. The path ~/loop does not exist. "
		  "Please provide a valid path." },
		{ "nul/x",
		  "Invalid `path` parameter: ~/nul/x. The path ~/nul/x does not exist. "
		  "Please provide a valid path." },
	};

	(void)state;
	put("nul", "a\0b", 3);
	put("odd", "\xff\xfe" "a\0b", 5);
	put("wide", "\xff\xfe\0\0a\0\0\0", 8); /* UTF-32 */
	put_text("large", "x");
	assert_int_equal(truncate("large", 11 << 20), 0);
	put_text("large2", "x");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *text = text_format("ERROR:\n%s", rows[i].says);
		says(request("view", rows[i].path), text);
		says(replacing(rows[i].path, "a", "b"), text);
	}
	says(request("view", "/proc/self"),
	     "ERROR:\nRan into [Errno 13] Permission denied: "
	     "'/proc/self' while trying to read /proc/self");
	says(creating("nul/x", "y"),
	     "ERROR:\nRan into [Errno 20] Not a directory: '~/nul/x' while "
	     "trying to write to ~/nul/x");
	says(creating("loop", "y"),
	     "ERROR:\nRan into [Errno 40] Too many levels of symbolic "
	     "links: '~/loop' while trying to write to ~/loop");
}

static void check_bytes(const char *path, const char *expected, size_t len)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char got[200];

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got)), len);
	assert_memory_equal(got, expected, len);
}

#define SEEN(text) SHOWN "~/f:\n     1\t" text "\n     2\tend\n"
#define REPLACED(text)                                                             \
	EDITED SHOWN "a snippet of ~/f:\n     1\t" text "\n     2\tend\nReview the " \
	"changes and make sure they are as expected. Edit the file again if necessary."

/* Bytes outside of the edit stay as they are, and an undo restores the file
 * exactly. */
static void test_every_encoding_is_kept(void **state)
{
	static const struct {
		const char *raw;
		size_t raw_len;
		const char *seen, *old, *new, *after;
		size_t after_len;
		const char *says;
	} rows[] = {
#define RAW(text) text, sizeof(text) - 1
		/* Western text, with bytes that windows-1252 does not define. */
		{ RAW("caf\xe9 \x81\r\nend"), SEEN("caf\xc3\xa9 \xc2\x81"), "caf\xc3\xa9",
		  "\xe2\x82\xac\n", RAW("\x80\r\n \x81\r\nend"), NULL },
		{ RAW("caf\xe9\nend"), SEEN("caf\xc3\xa9"), "f\xc3\xa9", "",
		  RAW("ca\nend"), REPLACED("ca") },
		/* Russian. */
		{ RAW("\xf4\xe0\xe9\xeb\nend"), SEEN("\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb"),
		  "\xd1\x84", "\xd0\x96", RAW("\xc6\xe0\xe9\xeb\nend"),
		  REPLACED("\xd0\x96\xd0\xb0\xd0\xb9\xd0\xbb") },
		{ RAW("\xc6\xc1\xca\xcc\nend"), SEEN("\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb"),
		  "\xd1\x84", "\xd0\x96", RAW("\xf6\xc1\xca\xcc\nend"),
		  REPLACED("\xd0\x96\xd0\xb0\xd0\xb9\xd0\xbb") },
		/* UTF-16: its byte order mark and line ends stay, and an inserted
		 * character is written as a surrogate pair. */
		{ RAW("\xff\xfe"
		      "a\0\r\0\n\0e\0n\0d\0"),
		  SEEN("a"), "a", "\xf0\x9f\x98\x80\nb",
		  RAW("\xff\xfe\x3d\xd8\x00\xde\r\0\n\0b\0\r\0\n\0e\0n\0d\0"), NULL },
		{ RAW("\xfe\xff\0a\0\n\0e\0n\0d"), SEEN("a"), "a", "\xc3\xa9",
		  RAW("\xfe\xff\0\xe9\0\n\0e\0n\0d"), REPLACED("\xc3\xa9") },
		/* The inserted text has a character that the file's encoding lacks. */
		{ RAW("caf\xe9\nend"), SEEN("caf\xc3\xa9"), "caf", "\xe9\xbe\x8d",
		  RAW("caf\xe9\nend"),
		  "ERROR:\nRan into U+9F8D, which windows-1252, the "
		  "encoding of the file, does not have, while trying to write to ~/f" },
		{ RAW("\xf4\xe0\xe9\xeb\nend"), SEEN("\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb"),
		  "end", "\xc3\xa9", RAW("\xf4\xe0\xe9\xeb\nend"),
		  "ERROR:\nRan into U+00E9, "
		  "which windows-1251, the encoding of the file, does not have, while trying "
		  "to write to ~/f" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct edit_request r = replacing("f", rows[i].old, rows[i].new);
		bool fails = rows[i].says && !strncmp(rows[i].says, "ERROR", 5);
		put("f", rows[i].raw, rows[i].raw_len);
		says(request("view", "f"), rows[i].seen);
		rows[i].says ? says(r, rows[i].says) : begins(r, EDITED);
		check_bytes("f", rows[i].after, rows[i].after_len);
		begins(request("undo_edit", "f"),
		       fails ? "ERROR:\nNo edit history" : "Last edit");
		check_bytes("f", rows[i].raw, rows[i].raw_len);
	}
}

/* The edit replaces the file's last Russian letter, after which the encoding could
 * not be guessed any more; the editor remembers it. */
static void test_an_encoding_is_remembered_between_edits(void **state)
{
	(void)state;
	put_text("f", "// \xf4\xe0\xe9\xeb\n");
	begins(replacing("f", "\xd1\x84\xd0\xb0\xd0\xb9\xd0\xbb", "x"), EDITED);
	check_file("f", "// x\n");
	begins(inserting("f", "1", "\xd1\x89"), EDITED);
	check_file("f", "// x\n\xf9\n");
	says(request("view", "f"),
	     SHOWN "~/f:\n     1\t// x\n     2\t\xd1\x89\n     3\t\n");
	put_text("f", "\xc3\xa9\n"); /* another program has rewritten the file as UTF-8 */
	says(request("view", "f"), SHOWN "~/f:\n     1\t\xc3\xa9\n     2\t\n");
	begins(request("undo_edit", "f"), "Last edit to ~/f undone");
	check_file("f", "// x\n");
}

/* The encoding's byte for this letter is also one of the bytes by which a binary
 * file is recognised; the file must stay editable. */
static void test_an_edit_does_not_lock_itself_out(void **state)
{
	(void)state;
	put_text("f", "caf\xe9\n");
	begins(replacing("f", "caf", "\xc3\xbf"), EDITED);
	check_file("f", "\xff\xe9\n");
	says(request("view", "f"), SHOWN "~/f:\n     1\t\xc3\xbf\xc3\xa9\n     2\t\n");
	begins(request("undo_edit", "f"), "Last edit to ~/f undone");
	check_file("f", "caf\xe9\n");
	begins(replacing("f", "caf", "\xc3\xbf"), EDITED);
	put("f", "\xff\0\1", 3);
	begins(request("view", "f"), "ERROR:\nFile validation failed");
}

static void test_a_diff_is_of_what_is_seen(void **state)
{
	struct act x;

	(void)state;
	put_text("f", "caf\xe9\n");
	x = ask(replacing("f", "caf", "th"));
	AUTO_FREE char *diff = text_format("%.*s", (int)(x.len - x.edited.text_len),
					   (const char *)x.content + x.edited.text_len);
	act_done(&x);
	assert_non_null(strstr(diff, "\n@@ -1 +1 @@\n-caf\xc3\xa9\n+th\xc3\xa9"));
}

static void test_a_read_of_what_looks_binary_says_that_alone(void **state)
{
	struct edit_request r = request("view", "nul");

	(void)state;
	put("nul", "a\0b", 3);
	put("much", "a\0b", 3);
	assert_int_equal(truncate("much", 11 << 20), 0);
	r.flags = EDIT_IS_READ;
	for (int i = 0; i < 2; i++) {
		struct act x = ask(r);
		assert_int_equal(x.edited.outcome, OUTCOME_BINARY);
		assert_int_equal(x.len, 0);
		act_done(&x);
		r.path = "much";
	}
	put_text("large", "text");
	assert_int_equal(truncate("nul", 0), 0);
	r.path = "nul";
	says(r, SHOWN "~/nul:\n     1\t\n");
}

static void test_documents_are_neither_shown_nor_edited(void **state)
{
	(void)state;
	put_text("a.PDF", "%PDF");
	says(request("view", "a.PDF"),
	     "ERROR:\nThe file ~/a.PDF (.PDF) cannot be shown by this sandbox");
	says(replacing("a.PDF", "P", "Q"),
	     "ERROR:\nInvalid `path` parameter: ~/a.PDF. The path ~/a.PDF points to a binary file "
	     "(.PDF) and only the `view` command can be used on supported binary files.");
	says(creating("b.docx", ""),
	     "ERROR:\nInvalid `path` parameter: ~/b.docx. The path ~/b.docx points to a binary "
	     "file (.docx) and only the `view` command can be used on supported binary files.");
	assert_int_equal(mkdir("d.pdf", 0700), 0);
	begins(request("view", "d.pdf"),
	       "Here's the files and directories up to 2 levels deep "
	       "in ~/d.pdf, excluding");
}

static void test_a_text_that_grows_too_large_is_not_written(void **state)
{
	char *much = mem_new(10 << 20);

	(void)state;
	memset(much, 'x', 10 << 20);
	memcpy(much, "y\n", 2);
	put("f", much, (10 << 20) - 1);
	says(inserting("f", "0", "zz"),
	     "ERROR:\nFile validation failed for ~/f: File is too large "
	     "(10.0MB). Maximum allowed size is 10MB.");
	says(request("undo_edit", "f"), "ERROR:\nNo edit history found for ~/f.");
	begins(replacing("f", "y", "yz"), EDITED SHOWN "a snippet of ~/f:\n     1\tyz\n");
	free(much);
}

/* Only a certain number of edits is kept; older ones cannot be undone any more. */
static void test_a_hundred_edits_can_be_undone(void **state)
{
	char old[16], new[16];

	(void)state;
	put_text("f", "0");
	for (int i = 0; i < 105; i++) {
		(void)snprintf(old, sizeof(old), "%d", i);
		(void)snprintf(new, sizeof(new), "%d", i + 1);
		begins(replacing("f", old, new), EDITED);
	}
	for (int i = 0; i < 100; i++)
		begins(request("undo_edit", "f"), "Last edit");
	says(request("undo_edit", "f"), "ERROR:\nNo edit history found for ~/f.");
	check_file("f", "5");
}

static void test_an_undo_that_fails_can_be_repeated(void **state)
{
	(void)state;
	if (getuid() == 0)
		skip(); /* root may write anyway */
	put_text("f", "one\n");
	begins(replacing("f", "one", "two"), EDITED);
	assert_int_equal(chmod("f", 0400), 0);
	says(request("undo_edit", "f"),
	     "ERROR:\nRan into [Errno 13] Permission denied: '~/f' while "
	     "trying to write to ~/f");
	/* Errors in the request are reported before errors of the file. */
	says(replacing("f", "none", "x"),
	     "ERROR:\nNo replacement was performed, old_str `none` did not appear verbatim in ~/f.");
	says(replacing("f", "two", "x"),
	     "ERROR:\nRan into [Errno 13] Permission denied: '~/f' "
	     "while trying to write to ~/f");
	assert_int_equal(chmod("f", 0600), 0);
	begins(request("undo_edit", "f"), "Last edit");
	check_file("f", "one\n");
}

/* An undo also removes what another program wrote since, and the diff shows that. */
static void test_an_undo_tells_what_it_takes_away(void **state)
{
	(void)state;
	put_text("f", "one\n");
	begins(replacing("f", "one", "two"), EDITED);
	put_text("f", "two\nmore\n");
	struct act x = ask(request("undo_edit", "f"));
	assert_non_null(strstr(x.content + x.edited.text_len,
			       "@@ -1,2 +1 @@\n-two\n-more\n+one"));
	act_done(&x);
	check_file("f", "one\n");
}

static void test_a_link_is_followed_and_stays(void **state)
{
	struct stat st;

	(void)state;
	put_text("target", "one\n");
	assert_int_equal(symlink("target", "f"), 0);
	begins(replacing("f", "one", "two"), EDITED);
	check_file("target", "two\n");
	assert_int_equal(lstat("f", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(symlink("new", "g"), 0);
	says(creating("g", "x"), "File created successfully at: ~/g");
	check_file("new", "x");
}

static void test_views_are_clipped_and_count_what_is_missing(void **state)
{
	char *much = mem_new(EDIT_CLIP + 5);

	(void)state;
	memset(much, 'x', EDIT_CLIP + 5);
	put("f", much, EDIT_CLIP + 5);
	struct act x = ask(request("view", "f"));
	assert_int_equal(x.edited.cut, 5);
	assert_non_null(strstr(x.content, "xxx" EDIT_CLIPPED_FILE "\n"));
	act_done(&x);
	free(much);
}

static void test_a_diff_of_any_size_is_bounded(void **state)
{
	char *much = mem_new(9 << 20);

	(void)state;
	for (size_t i = 0; i < 9 << 20; i++)
		much[i] = i % 2 ? '\n' : 'x';
	put("f", much, 9 << 20);
	struct edit_request r = replacing("f", "", "y");
	r.old_str = (struct bytes){ (uint8_t *)much, 7 << 20 };
	/* The text occurs twice, but the places overlap and so count as one. */
	struct act x = ask(r);
	assert_non_null(strstr(x.content, "has been edited"));
	assert_true(x.len - x.edited.text_len <= DIFF_MAX);
	assert_non_null(strstr(x.content + x.len - 100, DIFF_NOTICE));
	act_done(&x);
	free(much);
}

static void make_tree(void)
{
	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(mkdir("d/sub", 0700), 0);
	assert_int_equal(mkdir("d/sub/deeper", 0700), 0);
	assert_int_equal(mkdir("d/sub/.hidden", 0700), 0);
	assert_int_equal(mkdir("d/.git", 0700), 0);
	put_text("d/.git/config", "");
	put_text("d/.env", "");
	put_text("d/sub/deeper/unseen", "");
	put_text("d/sub-file", "");
	put_text("d/sub/file", "");
	assert_int_equal(mkfifo("d/fifo", 0600), 0);
	assert_int_equal(symlink("sub", "d/link"), 0);
	assert_int_equal(symlink("/nonesuch", "d/broken"), 0);
	assert_int_equal(symlink("..", "d/sub/up"), 0);
}

static void test_a_folder_is_shown_two_levels_deep(void **state)
{
	(void)state;
	make_tree();
	says(request("view", "d/"),
	     "Here's the files and directories up to 2 levels deep in ~/d, excluding hidden "
	     "items:\n~/d/\n~/d/broken\n~/d/fifo\n~/d/link/\n~/d/link/deeper/\n~/d/link/file\n"
	     "~/d/link/up/\n~/d/sub/\n~/d/sub-file\n~/d/sub/deeper/\n~/d/sub/file\n~/d/sub/up/\n\n"
	     "2 hidden files/directories in this directory are excluded. You can use 'ls -la ~/d' "
	     "to see them.");
	assert_int_equal(mkdir("empty", 0700), 0);
	says(request("view", "empty"),
	     "Here's the files and directories up to 2 levels deep in "
	     "~/empty, excluding hidden items:\n~/empty/");
}

/* A folder of procfs is listed by name only: /proc/self would be the executor, whose
 * descriptors must stay hidden. */
static void test_folders_of_processes_are_named_and_not_looked_into(void **state)
{
	/* This process, since /proc may hide others (hidepid).  The view ends before it where
	 * many processes with lower numbers exist. */
	AUTO_FREE char *named = text_format("\n/proc/%d/\n", (int)getpid());
	AUTO_FREE char *looked_into = text_format("\n/proc/%d/attr", (int)getpid());

	(void)state;
	struct act x = ask(request("view", "/proc"));
	assert_true(x.edited.cut > 0 || strstr(x.content, named));
	assert_null(strstr(x.content, looked_into));
	act_done(&x);
	begins(request("view", "/proc/self/fd"), "ERROR:\nRan into [Errno 13]");
	begins(request("view", "/proc/thread-self/../.."), "ERROR:\nRan into [Errno 13]");
}

/* No command of the editor reaches the files that the executor has open. */
static void test_links_of_proc_lead_nowhere(void **state)
{
	AUTO_FREE char *path = text_format("/proc/self/root%s/f", a.home);
	AUTO_FREE char *new = text_format("/proc/self/root%s/new", a.home);
	AUTO_FREE char *folder = text_format("/proc/self/root%s", a.home);

	(void)state;
	put_text("f", "mine\n");
	assert_int_equal(symlink("/proc/self/root", "link"), 0);
	begins(request("view", path), "ERROR:\nRan into [Errno 13] Permission denied");
	begins(request("view", folder), "ERROR:\nRan into [Errno 13] Permission denied");
	begins(replacing(path, "mine", "yours"), "ERROR:\nRan into [Errno 13]");
	begins(inserting(path, "0", "yours"), "ERROR:\nRan into [Errno 13]");
	begins(creating(new, "yours"), "ERROR:\nRan into [Errno 13]");
	says(request("view", ""),
	     "Here's the files and directories up to 2 levels deep in ~, "
	     "excluding hidden items:\n~/\n~/f\n~/link/");
	check_file("f", "mine\n");
	assert_int_equal(access("new", F_OK), -1);
}

static void test_a_large_folder_is_clipped(void **state)
{
	char name[32];

	(void)state;
	assert_int_equal(mkdir("d", 0700), 0);
	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "d/file-%05d", i);
		put_text(name, "");
	}
	struct act x = ask(request("view", "d"));
	assert_true(x.edited.cut > 0);
	assert_true(x.edited.text_len < EDIT_CLIP + 500);
	assert_true(!strcmp(x.content + x.edited.text_len - strlen(EDIT_CLIPPED_FOLDER),
			    EDIT_CLIPPED_FOLDER));
	assert_non_null(strstr(x.content, "/d/file-00000\n"));
	act_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_crlf_mark_and_mode_are_kept_by_every_edit),
		TEST(test_a_file_that_was_created_has_nothing_to_undo),
		TEST(test_an_empty_file_has_no_impossible_range),
		TEST(test_a_view_of_lines_has_none_behind_the_last),
		TEST(test_blanks_around_are_taken_off_where_it_helps),
		TEST(test_requests_in_the_wrong_words_are_refused),
		TEST(test_a_path_that_is_not_absolute_gets_a_hint),
		TEST(test_a_file_that_is_no_text_is_refused),
		TEST(test_every_encoding_is_kept),
		TEST(test_an_encoding_is_remembered_between_edits),
		TEST(test_an_edit_does_not_lock_itself_out),
		TEST(test_a_diff_is_of_what_is_seen),
		TEST(test_a_read_of_what_looks_binary_says_that_alone),
		TEST(test_documents_are_neither_shown_nor_edited),
		TEST(test_a_text_that_grows_too_large_is_not_written),
		TEST(test_a_hundred_edits_can_be_undone),
		TEST(test_an_undo_that_fails_can_be_repeated),
		TEST(test_an_undo_tells_what_it_takes_away),
		TEST(test_a_link_is_followed_and_stays),
		TEST(test_views_are_clipped_and_count_what_is_missing),
		TEST(test_a_diff_of_any_size_is_bounded),
		TEST(test_a_folder_is_shown_two_levels_deep),
		TEST(test_folders_of_processes_are_named_and_not_looked_into),
		TEST(test_links_of_proc_lead_nowhere),
		TEST(test_a_large_folder_is_clipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
