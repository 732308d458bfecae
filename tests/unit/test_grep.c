/* grep: hutch, ripgrep and (where the pattern means the same to it) GNU grep find
 * the same lines; also in files that are no text, and at paths that are no files. */
#include "executor/search/grep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "executor/fileops/ripgrep.h"
#include "executor/search/grep_tree.h"
#include "executor/search/nfa_match.h"
#include "executor/search/pattern.h"
#include "protocol/message.h"
#include "tests/unit/grep_cases.h"

/* --- the texts -------------------------------------------------------------- */

#define AAA   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define XXX   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define LONG  XXX XXX XXX XXX AAA XXX XXX XXX XXX
#define LONGER LONG LONG LONG LONG ", b " LONG LONG LONG LONG "c"

/* The files of the test's folder and their text; without a text it is a folder. */
static const struct {
	const char *path, *text;
} files[] = {
	{ "code.c",
	  "#include <sys/stat.h>\n#include \"base/err.h\"\n#include \"executor/search/grep.h\"\n\n"
	  "/* foo ** bar */\n// comment\n\t// comment\nstruct line {\n\tint x;\n};\n\n"
	  "static int foo_init(void)\n{\n\tif (x == 0 || y) {\n\t\treturn -1;\n\t}\n"
	  "\twhile (next->x) {\n\t\terr_set(e, ERR_USAGE, \"no such thing: %s\", s);\n"
	  "\t\tERR_ABC(1);\n\t}\n\tint a[2] = { 0 };\n\tuint32_t n = 0xdeadBEEF;\n"
	  "\treturn a[1];\n}\nint main(int argc, char **argv)\nintmain printint xinty\n"
	  "foo(|bar) $HOME ^x a+b a?b c\\d\n a{1,2}b a{x a{ {x aab }\nchar c;\n\tint i;   \n" },
	{ "words.txt",
	  "the end of the line\nthe cat\nwith the\nthere is another theme\n\n\nfoobarfoobaz\n"
	  "abba baab abab abcd\naab ab b ac bcd e be ce\nred,green,blue,\na,b,c,d\nq qu qa\n"
	  "Error: ERROR error Warning fail\nTODO: FIXME XXX\nfooBar FooBar FOO INT MAIN\n"
	  "10.0.0.1 and 2026-11-21 99%\nme@example.org http://a.b/c https://d\n--long-opt -s\n"
	  "   \n\t\nx\nxy xyz xxy\n 010101\nqueue\nbeautiful aeiou rhythm strngth\nends here,;\n"
	  "x - +5 -7 a-x b|c [x] ]y (a) (b) <a> <b>\n\"open\n\"closed\" 'single'\nfoo => bar\n"
	  "begin\nxx\nxxxy a$ ^a\n a \n__init__ CONST_NAME camelCase\n/usr/bin a/b\\c \\\\\n" },
	{ "unicode.txt",
	  "caf\303\251\nna\303\257ve \303\251t\303\251 \303\274ber\nStra\303\237e \303\204"
	  "\303\226 \303\244\303\266\n\346\227\245\346\234\254\350\252\236 text\n"
	  "5 \342\202\254 and 3 \302\243\n\305\273\303\223\305\201W \305\274\303\263\305\202w\n"
	  "\316\243\316\212\316\243\316\245\316\246\316\237\316\243\n\316\241\317\211\n"
	  "\320\234\320\236\320\241\320\232\320\222\320\220 \320\274\320\276\321\201\320\272\320"
	  "\262\320\260\n\360\237\230\200 smile\n\342\204\252 kelvin\n a\302\240b \302\240\n"
	  "\303\251\n\303\251 x\nx \303\251y\n" },
	{ "latin1.txt",
	  "caf\351\nna\357ve\n\344\366\374 int x\ncut \303\nsur \355\240\200 x\n"
	  "over \300\257 x\n\377\376 foo\n" },
	{ "crlf.txt", "foo;\r\n\r\nint x;\r\n \r\nx\r\r\nthe end\r\nfoo bar" },
	{ "open.txt", "first foo\nno newline at the end" },
	{ "empty.txt", "" },
	{ "newlines.txt", "\n\n\n" },
	{ "long.txt", "short foo\n" LONGER "\nfoo " LONGER " end\nlast\n" },
	{ ".hidden", "hidden foo int x\n" },
	{ "ignored.o", "ignored foo\n" },
	{ ".gitignore", "*.o\nsub/\n" },
	{ ".git", NULL },
	{ ".git/HEAD", "foo in .git\n" },
	{ "sub", NULL },
	{ "sub/.git", "foo: a file of that name\n" },
	{ "sub/a b.c", "int main foo\n" },
	{ "sub/deep", NULL },
	{ "sub/deep/x.txt", "foo deep\n" },
	{ "sub!", "foo behind sub, and in front of what is in it\n" },
};

struct world {
	char path[64];
	int root;
};

static void put_file(int root, const char *path, const char *text, size_t len)
{
	AUTO_CLOSE int fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
}

/* One file with a byte 0 at its beginning, one with a byte 0 after three reads'
 * worth of text. */
static void put_binaries(int root)
{
	const size_t len = 400000;
	AUTO_FREE char *text = mem_new(len);

	put_file(root, "early.bin", "int foo\0", 9);
	memset(text, 'z', len);
	memcpy(text, "int foo\n", 8);
	text[len - 1] = '\0';
	put_file(root, "late.bin", text, len);
}

static int set_up(void **state)
{
	struct world *w = mem_zeroed(1, sizeof(*w));

	strcpy(w->path, "/tmp/hutch-grep.XXXXXX");
	assert_non_null(mkdtemp(w->path));
	w->root = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (files[i].text)
			put_file(w->root, files[i].path, files[i].text,
				 strlen(files[i].text));
		else
			assert_int_equal(mkdirat(w->root, files[i].path, 0755), 0);
	put_binaries(w->root);
	assert_int_equal(symlinkat("sub", w->root, "link"), 0);
	assert_int_equal(symlinkat("code.c", w->root, "link.c"), 0);
	assert_int_equal(mkfifoat(w->root, "fifo", 0644), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	AUTO_FREE char *line = text_format("rm -r %s", w->path);

	close(w->root);
	assert_int_equal(system(line), 0);
	free(w);
	return 0;
}

/* --- ourselves -------------------------------------------------------------- */

struct telling {
	struct buffer text;
	const char *path;
};

static bool tell(void *context, const struct grep_line *l)
{
	struct telling *t = context;
	AUTO_FREE char *head =
		text_format("%s:%llu:", t->path, (unsigned long long)l->number);

	assert_true(buffer_append(&t->text, head, strlen(head)));
	assert_true(buffer_append(&t->text, l->text, l->len));
	return buffer_append(&t->text, "\n", 1);
}

static char *text_of(struct buffer *b)
{
	assert_true(buffer_append(b, "", 1));
	char *text = mem_copy(buffer_data(b), buffer_len(b));
	buffer_done(b);
	return text;
}

/* Returns the lines that hutch's grep finds in these files, as one text. */
static char *lines_of(int root, const struct prepared *p, struct grep_paths *found)
{
	struct telling t = { 0 };
	struct grep g = { .matcher = nfa_match_new(p), .on_line = tell, .context = &t };

	buffer_init(&t.text, 64u << 20);
	grep_paths_sort(found);
	for (size_t i = 0; i < found->count; i++) {
		struct buffer before = t.text;
		AUTO_CLOSE int fd = grep_open(root, found->sorted[i]);
		t.path = found->sorted[i];
		if (grep_file(&g, fd) == GREP_NO_TEXT)
			t.text.end = before.end;
	}
	nfa_match_free(g.matcher);
	grep_done(&g);
	return text_of(&t.text);
}

static char *ask_ourselves(int root, const struct prepared *p, size_t threads)
{
	const struct grep_wanted w = { .prepared = p, .threads = threads };
	struct grep_paths found = { 0 };

	grep_tree(root, &w, &found);
	assert_int_equal(found.closed, 0);
	assert_false(found.is_cut);
	char *lines = lines_of(root, p, &found);
	grep_paths_done(&found);
	return lines;
}

static void prepare(const struct grep_case *c, struct prepared *ret, char **ret_rust)
{
	struct pattern *p = NULL;
	struct err e = { 0 };

	if (pattern_new(&p, c->pattern, c->ignores_case, &e) < 0 ||
	    prepared_init(ret, p, &e) < 0)
		fail_msg("%s", e.text);
	*ret_rust = pattern_in_rust(p);
	pattern_free(p);
}

/* --- others ----------------------------------------------------------------- */

static bool has_program(const char *name)
{
	AUTO_FREE char *line = text_format("command -v %s >/dev/null", name);

	return system(line) == 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts lines "./PATH:..." by their bytes, drops the "./" and line ends, cuts
 * lines as hutch does, and keeps only the wanted files. */
static char *sorted(char *text, bool (*wants)(const char *line))
{
	static char *lines[100000];
	size_t count = 0;
	struct buffer b;

	for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n")) {
		at += strncmp(at, "./", 2) ? 0 : 2;
		if (wants(at))
			lines[count++] = at;
	}
	qsort(lines, count, sizeof(*lines), by_text);
	buffer_init(&b, 64u << 20);
	for (size_t i = 0; i < count; i++) {
		const char *head = strchr(strchr(lines[i], ':') + 1, ':') + 1;
		size_t len = strlen(head);
		while (len > 0 && head[len - 1] == '\r')
			len--;
		len = len < GREP_SHOWN_MAX ? len : GREP_SHOWN_MAX;
		assert_true(buffer_append(&b, lines[i], (size_t)(head - lines[i]) + len));
		assert_true(buffer_append(&b, "\n", 1));
	}
	return text_of(&b);
}

static bool is_text(const char *line)
{
	return !strstr(line, ".bin:") && !strstr(line, "WARNING: ") &&
	       !strstr(line, "binary file matches");
}

static bool is_for_gnu(const char *line)
{
	return is_text(line) && strncmp(line, "crlf.txt:", 9) != 0;
}

static bool is_ascii(const char *line)
{
	return is_for_gnu(line) && strncmp(line, "unicode.txt:", 12) != 0 &&
	       strncmp(line, "latin1.txt:", 11) != 0;
}

/* Returns the output of a program that takes its pattern from $P. */
static char *output_of(const struct world *w, const char *pattern, const char *command)
{
	AUTO_FREE char *line = text_format("cd %s && exec %s", w->path, command);
	struct buffer b;
	size_t n;

	setenv("P", pattern, 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	FILE *f = popen(line, "re");
	buffer_init(&b, 64u << 20);
	while ((n = fread(buffer_reserve(&b, 65536), 1, 65536, f)) > 0)
		buffer_added(&b, n);
	pclose(f);
	return text_of(&b);
}

#define RG                                                                              \
	"rg --no-config --no-ignore --hidden -g '!.git' --encoding none --color never " \
	"--no-messages -j1 -n --no-heading --with-filename -e \"$P\" ./"
#define GNU "grep -arnE --exclude-dir=.git --exclude=.git --exclude='*.bin' "

static char **environment(void)
{
	static char path[4096];
	static char *env[] = { path, NULL };

	snprintf(path, sizeof(path), "PATH=%s", getenv("PATH"));
	return env;
}

static void must_equal(const struct grep_case *c, const char *reference, const char *a,
		       const char *b)
{
	if (strcmp(a, b) == 0)
		return;
	size_t at = 0;
	while (a[at] == b[at])
		at++;
	while (at > 0 && a[at - 1] != '\n')
		at--;
	fail_msg("%s (%s): we have %.80s\n %s has %.80s", c->pattern,
		 c->ignores_case ? "ignoring case" : "as it is", a + at, reference,
		 b + at);
}

/* --- what is compared ------------------------------------------------------- */

/* Compares the names of files with the errand's. */
static void compare_files(const struct world *w, const struct grep_case *c,
			  const char *rust, const char *ours)
{
	const struct exec as = { .env = environment() };
	const struct ripgrep r = { .as = &as, .pattern = rust, .late = -1 };
	struct grep_paths found = { 0 };
	struct prepared p;
	AUTO_FREE char *mine = NULL;

	prepare(c, &p, &mine);
	assert_int_equal(ripgrep_tree(w->root, &r, &found), 0);
	AUTO_FREE char *its = lines_of(w->root, &p, &found);
	must_equal(c, "what ripgrep found", ours, its);
	grep_paths_done(&found);
	prepared_done(&p);
}

/* Compares the lines with ripgrep's; for every eighth pattern also the names of
 * files. */
static void compare_with_ripgrep(const struct world *w, const struct grep_case *c)
{
	struct prepared p;
	AUTO_FREE char *rust = NULL;

	prepare(c, &p, &rust);
	AUTO_FREE char *ours = ask_ourselves(w->root, &p, 1);
	prepared_done(&p);
	if (!rust)
		return assert_string_equal(ours, ""); /* no text matches */
	if ((c - cases) % 8 == 0)
		compare_files(w, c, rust, ours);
	AUTO_FREE char *a = sorted(ours, is_text);
	AUTO_FREE char *printed = output_of(w, rust, RG);
	AUTO_FREE char *b = sorted(printed, is_text);
	must_equal(c, "ripgrep", a, b);
}

static void ripgrep_finds_what_we_find(void **state)
{
	assert_true(ARRAY_LEN(cases) >= 200);
	if (!has_program("rg"))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		compare_with_ripgrep(*state, &cases[i]);
}

static void compare_with_gnu(const struct world *w, const struct grep_case *c)
{
	bool (*wants)(const char *) = c->agreed == ALL ? is_for_gnu : is_ascii;
	struct prepared p;
	AUTO_FREE char *rust = NULL;

	prepare(c, &p, &rust);
	AUTO_FREE char *ours = ask_ourselves(w->root, &p, 1);
	AUTO_FREE char *a = sorted(ours, wants);
	AUTO_FREE char *its = output_of(w, c->pattern, c->ignores_case
					? GNU "-i -e \"$P\" ./" : GNU "-e \"$P\" ./");
	AUTO_FREE char *b = sorted(its, wants);
	must_equal(c, "GNU grep", a, b);
	prepared_done(&p);
}

static void gnu_grep_finds_what_we_find_where_the_dialects_agree(void **state)
{
	if (system("grep --version 2>/dev/null | grep -q GNU") != 0)
		skip();
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (cases[i].agreed != OURS)
			compare_with_gnu(*state, &cases[i]);
}

/* --- ours alone ------------------------------------------------------------- */

static const struct grep_case foo = { "foo", ALL, false };

static void files_are_told_in_order_whoever_was_first(void **state)
{
	const struct world *w = *state;
	AUTO_FREE char *rust = NULL;
	struct prepared p;

	prepare(&foo, &p, &rust);
	for (size_t threads = 1; threads <= 4; threads++) {
		AUTO_FREE char *lines = ask_ourselves(w->root, &p, threads);
		assert_non_null(strstr(lines, "open.txt:1:first foo\n"
				       "sub/a b.c:1:int main foo\n"
				       "sub/deep/x.txt:1:foo deep\n"
				       "sub!:1:foo behind sub"));
		assert_non_null(strstr(lines, ".hidden:1:hidden foo"));
		assert_non_null(strstr(lines, "ignored.o:1:ignored foo"));
		assert_null(strstr(lines, ".git"));
		assert_null(strstr(lines, "bin"));
		assert_null(strstr(lines, "link"));
	}
	prepared_done(&p);
}

static enum grep_end end_of(int root, const char *path,
			    bool (*on_line)(void *context, const struct grep_line *l),
			    struct telling *t)
{
	AUTO_CLOSE int fd = grep_open(root, path);
	AUTO_FREE char *rust = NULL;
	struct prepared p;

	prepare(&foo, &p, &rust);
	struct grep g = { .matcher = nfa_match_new(&p),
			  .on_line = on_line,
			  .context = t };
	enum grep_end end = grep_file(&g, fd);
	nfa_match_free(g.matcher);
	grep_done(&g);
	prepared_done(&p);
	return end;
}

static bool want_no_more(void *context, const struct grep_line *l)
{
	(void)context;
	return l->number == 0;
}

static void what_has_a_zero_anywhere_is_no_text(void **state)
{
	const struct world *w = *state;
	struct telling t = { .path = "x" };

	buffer_init(&t.text, 1u << 20);
	assert_int_equal(end_of(w->root, "early.bin", tell, &t), GREP_NO_TEXT);
	assert_int_equal(end_of(w->root, "late.bin", tell, &t), GREP_NO_TEXT);
	assert_int_equal(end_of(w->root, "late.bin", want_no_more, &t), GREP_NO_TEXT);
	assert_int_equal(end_of(w->root, "early.bin", NULL, &t), GREP_NO_TEXT);
	assert_int_equal(end_of(w->root, "fifo", NULL, &t), GREP_NO_TEXT);
	assert_int_equal(end_of(w->root, "sub", NULL, &t), GREP_NO_TEXT);
	assert_int_equal(end_of(w->root, "empty.txt", tell, &t), GREP_NONE);
	assert_int_equal(end_of(w->root, "newlines.txt", tell, &t), GREP_NONE);
	assert_int_equal(end_of(w->root, "code.c", want_no_more, &t), GREP_ENDED);
	assert_int_equal(grep_open(w->root, "link.c"), -1);
	assert_int_equal(grep_open(w->root, "link/deep/x.txt"), -1);
	assert_int_equal(grep_open(w->root, ".."), -1);
	buffer_done(&t.text);
}

/* A line longer than a buffer is found across several buffers, and shown up to
 * a bound, at which no character is cut. */
static void long_lines_are_found_and_cut(void **state)
{
	const struct world *w = *state;
	const size_t len = 300000;
	AUTO_FREE char *text = mem_new(len);
	struct telling t = { .path = "x" };

	for (size_t i = 0; i + 1 < len; i += 2)
		memcpy(text + i, "\303\244", 2);
	text[0] = 'a';
	text[1] = '\n';
	text[2] = 'b';
	text[3] = 'b';
	text[4] = 'b'; /* one letter more, so that the bound lies within a character */
	text[5] = 'b';
	text[6] = 'c';
	memcpy(text + 7, "\303\244c", 3);
	memcpy(text + len - 6, "\nfoo\n\n", 6);
	memcpy(text + len - 20, "foo", 3);
	put_file(w->root, "wide.bin", text, len);
	buffer_init(&t.text, 1u << 20);
	assert_int_equal(end_of(w->root, "wide.bin", tell, &t), GREP_FOUND);
	AUTO_FREE char *lines = text_of(&t.text);
	assert_memory_equal(lines, "x:2:bbbbc\303\244c", 12);
	size_t first = strcspn(lines, "\n") - 4;
	assert_true(first <= GREP_SHOWN_MAX && first > GREP_SHOWN_MAX - 4);
	assert_string_equal(lines + 4 + first, "\nx:3:foo\n");
	assert_int_equal(unlinkat(w->root, "wide.bin", 0), 0);
}

static bool want_no_txt(void *context, const char *path)
{
	(void)context;
	return !strstr(path, ".txt");
}

static bool at_once(void *context)
{
	(void)context;
	return true;
}

static void what_is_not_wanted_or_too_late_is_not_looked_at(void **state)
{
	const struct world *w = *state;
	struct grep_paths found = { 0 };
	AUTO_FREE char *rust = NULL;
	struct prepared p;

	prepare(&foo, &p, &rust);
	struct grep_wanted wanted = { .prepared = &p, .wants = want_no_txt };
	grep_tree(w->root, &wanted, &found);
	grep_paths_sort(&found);
	assert_true(found.count > 3);
	for (size_t i = 0; i < found.count; i++)
		assert_null(strstr(found.sorted[i], ".txt"));
	grep_paths_done(&found);
	wanted.is_late = at_once;
	grep_tree(w->root, &wanted, &found);
	assert_int_equal(found.count, 0);
	assert_true(found.is_cut);
	grep_paths_done(&found);
	prepared_done(&p);
}

/* A folder has more files than one worker takes at once, so several workers share
 * it. */
static void a_wide_folder_is_divided(void **state)
{
	const struct world *w = *state;
	struct grep_paths found = { 0 };
	AUTO_FREE char *rust = NULL;
	struct prepared p;
	char name[64];

	assert_int_equal(mkdirat(w->root, "wide", 0755), 0);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "wide/file-%04d", i);
		put_file(w->root, name, i % 2 ? "foo\n" : "bar\n", 4);
	}
	AUTO_CLOSE int wide = openat(w->root, "wide", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	prepare(&foo, &p, &rust);
	const struct grep_wanted wanted = { .prepared = &p, .threads = 3 };
	grep_tree(wide, &wanted, &found);
	grep_paths_sort(&found);
	assert_int_equal(found.count, 1000);
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "file-%04d", 2 * i + 1);
		assert_string_equal(found.sorted[i], name);
	}
	grep_paths_done(&found);
	prepared_done(&p);
	AUTO_FREE char *line = text_format("rm -r %s/wide", w->path);
	assert_int_equal(system(line), 0);
}

struct swap {
	int folder;
	const char *path, *link;
};

/* At the first call, replaces a folder that the search has yet to enter by a
 * symbolic link. */
static bool swap_at_first(void *context, const char *path)
{
	const struct swap *x = context;

	if (strcmp(path, "a/first") == 0) {
		assert_int_equal(renameat(x->folder, x->path, x->folder, "away"), 0);
		assert_int_equal(symlinkat(x->link, x->folder, x->path), 0);
	}
	return true;
}

static void a_folder_that_becomes_a_link_is_not_followed(void **state)
{
	static const char *const ways[][2] = { { "a", "../other" },
					       { "a/b", "../../other/b" } };
	const struct world *w = *state;
	AUTO_FREE char *rust = NULL;
	struct prepared p;

	prepare(&foo, &p, &rust);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		AUTO_FREE char *make = text_format(
			"cd %s && mkdir -p race/a/b other/b && echo foo | tee race/a/first "
			"race/a/b/in >other/b/out",
			w->path);
		AUTO_FREE char *clean =
			text_format("rm -r %s/race %s/other", w->path, w->path);
		struct grep_paths found = { 0 };
		assert_int_equal(system(make), 0);
		struct swap x = { .path = ways[i][0], .link = ways[i][1] };
		x.folder = openat(w->root, "race", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		const struct grep_wanted wanted = { .prepared = &p,
						    .threads = 1,
						    .context = &x,
						    .wants = swap_at_first };
		grep_tree(x.folder, &wanted, &found);
		grep_paths_sort(&found);
		assert_int_equal(found.closed, 0);
		for (size_t k = 0; k < found.count; k++)
			assert_null(strstr(found.sorted[k], "out"));
		grep_paths_done(&found);
		close(x.folder);
		assert_int_equal(system(clean), 0);
	}
	prepared_done(&p);
}

/* --- an rg that is something else ------------------------------------------- */

static int ask_false_one(const struct world *w, const char *script,
			 struct grep_paths *ret)
{
	AUTO_FREE char *bin = text_format("%s/false", w->path);
	AUTO_FREE char *path = text_format("PATH=relative::%s/nowhere:%s", w->path, bin);
	char *env[] = { path, NULL };
	const struct exec as = { .env = env };
	const struct ripgrep r = { .as = &as, .pattern = "x", .late = -1 };
	AUTO_FREE char *text = text_format("#!/bin/sh\n%s\n", script);

	assert_int_equal(mkdir(bin, 0755), 0);
	put_file(w->root, "false/rg", text, strlen(text));
	assert_int_equal(fchmodat(w->root, "false/rg", 0755, 0), 0);
	assert_true(ripgrep_is_there(&as));
	int rc = ripgrep_tree(w->root, &r, ret);
	AUTO_FREE char *line = text_format("rm -r %s", bin);
	assert_int_equal(system(line), 0);
	return rc;
}

/* A script in place of rg, whether hutch uses its output, and how many files that
 * output names. */
static const struct {
	const char *script;
	int rc;
	size_t count;
} false_ones[] = {
	{ "exit 1", 0, 0 },
	{ "exit 0", 0, 0 },
	{ "exit 2", 0, 0 },
	{ "exit 3", -1, 0 },
	{ "kill -9 $$", -1, 0 },
	{ "echo unknown option >&2; exit 2", -1, 0 },
	{ "printf './a\\0./b/c\\0'", 0, 2 },
	{ "printf './a\\0'; printf './b'", 0, 1 },
	{ "printf '/etc/passwd\\0\\0./\\0../x\\0./a\\nb\\0'", 0, 1 },
	{ "head -c 300000 /dev/zero | tr '\\0' x", -1, 0 },
	/* The script fails after grep has closed its end of the pipe. */
	{ "n=$(ls /proc/$PPID/fd | wc -l); exec >&-; "
	  "while [ $(ls /proc/$PPID/fd | wc -l) = $n ]; do :; done; "
	  "echo an error >&2; exit 2", -1, 0 },
	{ "exec /nonexistent/interpreter", -1, 0 },
	{ "cat; printf './a\\0'", -1, 0 }, /* it has no input */
};

static void an_rg_that_is_something_else_is_survived(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(false_ones); i++) {
		struct grep_paths found = { 0 };
		int rc = ask_false_one(*state, false_ones[i].script, &found);
		if (rc != false_ones[i].rc ||
		    (rc == 0 && found.count != false_ones[i].count))
			fail_msg("%s: %d, %zu", false_ones[i].script, rc, found.count);
		grep_paths_done(&found);
	}
}

/* A relative PATH entry is not searched for rg: it could be the folder that
 * grep searches. */
static void an_rg_that_is_not_named_from_the_root_is_none(void **state)
{
	static char path[] = "PATH=.::false";
	char *env[] = { path, NULL };
	const struct exec as = { .env = env };
	const struct world *w = *state;

	put_file(w->root, "rg", "#!/bin/sh\n", 10);
	assert_int_equal(fchmodat(w->root, "rg", 0755, 0), 0);
	AUTO_CLOSE int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fchdir(w->root), 0);
	assert_int_equal(access("rg", X_OK), 0);
	assert_false(ripgrep_is_there(&as));
	assert_int_equal(fchdir(here), 0);
	assert_int_equal(unlinkat(w->root, "rg", 0), 0);
}

/* rg runs under the filter of the session's commands: a filter that forbids execve
 * keeps rg from starting. */
static void ripgrep_is_under_the_filter_of_commands(void **state)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct world *w = *state;
	struct exec as = { .env = environment() };
	const struct ripgrep r = { .as = &as, .pattern = "foo", .late = -1 };
	struct grep_paths found = { 0 };

	if (!has_program("rg"))
		skip();
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(ripgrep_tree(w->root, &r, &found), 0);
	assert_true(found.count > 0);
	grep_paths_done(&found);
	as.filter = steps;
	as.filter_len = sizeof(steps);
	assert_int_equal(ripgrep_tree(w->root, &r, &found), -1);
	grep_paths_done(&found);
}

/* rg prints names without end: hutch reads them up to a bound, and kills rg. */
static void an_rg_that_never_ends_is_ended(void **state)
{
	struct grep_paths found = { 0 };

	assert_int_equal(ask_false_one(*state,
				       "while printf './%01000d\\0' 1 2 3 4 5 6 7 8; "
				       "do :; done",
				       &found),
			 0);
	assert_true(found.is_cut);
	assert_true(found.len <= GREP_PATHS_MAX);
	grep_paths_done(&found);
}

static void globs_are_told_that_both_read_alike(void **state)
{
	(void)state;
	assert_true(ripgrep_knows_glob("*.c"));
	assert_true(ripgrep_knows_glob("test_*.{py,pyi}"));
	assert_false(ripgrep_knows_glob("test_?.py"));
	assert_false(ripgrep_knows_glob("{py}"));
	assert_false(ripgrep_knows_glob("*{,.c}"));
	assert_false(ripgrep_knows_glob("*{.c,}"));
	assert_false(ripgrep_knows_glob("{a,{b}}"));
	assert_false(ripgrep_knows_glob("{a,b/c}"));
	assert_false(ripgrep_knows_glob("{a,b"));
	assert_false(ripgrep_knows_glob("!*.c"));
	assert_false(ripgrep_knows_glob("src/*.c"));
	assert_false(ripgrep_knows_glob("**.c"));
	assert_false(ripgrep_knows_glob("[!a]*"));
	assert_false(ripgrep_knows_glob("a\\*"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ripgrep_finds_what_we_find),
		cmocka_unit_test(gnu_grep_finds_what_we_find_where_the_dialects_agree),
		cmocka_unit_test(files_are_told_in_order_whoever_was_first),
		cmocka_unit_test(what_has_a_zero_anywhere_is_no_text),
		cmocka_unit_test(long_lines_are_found_and_cut),
		cmocka_unit_test(what_is_not_wanted_or_too_late_is_not_looked_at),
		cmocka_unit_test(a_wide_folder_is_divided),
		cmocka_unit_test(a_folder_that_becomes_a_link_is_not_followed),
		cmocka_unit_test(an_rg_that_is_something_else_is_survived),
		cmocka_unit_test(an_rg_that_is_not_named_from_the_root_is_none),
		cmocka_unit_test(ripgrep_is_under_the_filter_of_commands),
		cmocka_unit_test(an_rg_that_never_ends_is_ended),
		cmocka_unit_test(globs_are_told_that_both_read_alike),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
