#include "bwrap/option_takes.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "bwrap/options.h"

/* The most bytes that one --args reads: ARGS_MAX words of the longest path, and more. */
#define DATA_MAX ((size_t)64 << 20)

/* Splits data at its NULs.  The last word may lack its NUL: io_read_file() put one behind
 * the data. */
static char **split(char *data, size_t len, size_t count)
{
	char **words = mem_zeroed(count + 1, sizeof(*words));
	size_t n = 0;

	for (size_t at = 0; at < len; at += strlen(data + at) + 1)
		words[n++] = data + at;
	return words;
}

static size_t count_words(const char *data, size_t len)
{
	size_t count = 0;

	for (size_t at = 0; at < len; at += strlen(data + at) + 1)
		count++;
	return count;
}

/* Keeps data and its words as long as the args, since operations point into them. */
static char **keep_words(struct args *a, char *data, size_t len, size_t count)
{
	const size_t n = a->data_count++;

	a->data = mem_resize(a->data, n + 1, sizeof(*a->data));
	a->data_words = mem_resize(a->data_words, n + 1, sizeof(*a->data_words));
	a->data[n] = data;
	a->data_words[n] = split(data, len, count);
	return a->data_words[n];
}

static int read_data(int from, char **ret, size_t *ret_len, struct err *e)
{
	AUTO_CLOSE int fd = from;

	if (io_read_file(fd, "the words of --args", DATA_MAX, ret, ret_len, e) == 0)
		return 0;
	if (e->kind == ERR_LIMIT)
		return err_in(e, "Can't read --args data");
	return err_set(e, (enum err_kind)e->kind, "Can't read --args data: %s",
		       err_words(e->sys));
}

int take_args(struct reader *r, struct err *e)
{
	char *data;
	size_t len;

	if (r->is_in_data)
		return err_set(e, ERR_USAGE, "--args not supported in arguments file");
	const int fd = take_parse_fd(r->words[0], e);
	if (fd < 0 || read_data(fd, &data, &len, e) < 0)
		return -1;
	const size_t count = count_words(data, len);
	char **inner = keep_words(r->args, data, len, count);
	if (count > ARGS_MAX || r->total + count > ARGS_MAX)
		return err_set(e, ERR_LIMIT, "Exceeded maximum number of arguments %d",
			       ARGS_MAX);
	r->total += count;
	r->is_in_data = true;
	const int rc = options_parse(r, &inner, e);
	r->is_in_data = false;
	return rc;
}
