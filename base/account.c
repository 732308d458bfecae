#include "base/account.h"

#include <string.h>
#include <unistd.h>

#define LINE_MAX_LEN 4096
#define FILE_MAX     (1u << 20)
#define FIELDS	     7

/* The indices of the columns in lines of passwd(5) and group(5); a column that both
 * files have is at the same index. */
enum { NAME = 0, ID = 2, GROUP = 3, MEMBERS = 3, HOME = 5 };

struct question {
	const char *name;
	uint32_t id;
};

bool account_id(const char *text, uint32_t *ret)
{
	uint64_t number = 0;

	if (!*text || strlen(text) > 10)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		number = number * 10 + (uint64_t)(*text - '0');
	}
	*ret = (uint32_t)number;
	return number <= ACCOUNT_MAX;
}

static void copy_text(char ret[ACCOUNT_TEXT], const char *from)
{
	size_t len = strlen(from);

	if (len < ACCOUNT_TEXT)
		memcpy(ret, from, len + 1);
}

/* Parses one line of the file, in place.  Returns whether the line is the account
 * that `q` asks for. */
static bool take_line(char *line, const struct question *q, struct account *ret)
{
	char *fields[FIELDS] = { NULL };
	struct account a = { 0 };
	size_t n = 0;

	for (char *rest = line; rest && n < FIELDS; n++)
		fields[n] = strsep(&rest, ":");
	if (n <= ID || !account_id(fields[ID], &a.id))
		return false;
	if (q->name ? strcmp(fields[NAME], q->name) != 0 : a.id != q->id)
		return false;
	if (n == FIELDS && !account_id(fields[GROUP], &a.group))
		return false;
	copy_text(a.name, fields[NAME]);
	if (n == FIELDS && fields[HOME][0] == '/')
		copy_text(a.home, fields[HOME]);
	*ret = a;
	return true;
}

/* --- lines ------------------------------------------------------------------------- */

struct reader {
	int fd;
	size_t total, len, at; /* total: bytes read in all; len: bytes in the buffer;
				* at: bytes of the buffer that were consumed */
	char bytes[LINE_MAX_LEN];
};

/* Returns the next byte of the file, or -1 at its end. */
static int next_byte(struct reader *r)
{
	if (r->at == r->len) {
		ssize_t n = r->total < FILE_MAX ? read(r->fd, r->bytes, sizeof(r->bytes))
						: 0;
		r->len = n > 0 ? (size_t)n : 0;
		r->total += r->len;
		r->at = 0;
	}
	return r->at < r->len ? (unsigned char)r->bytes[r->at++] : -1;
}

/* Reads the next line; returns false if the file has ended.  A line that is too long
 * is returned as an empty line, which the caller skips since it is no account. */
static bool next_line(struct reader *r, char line[LINE_MAX_LEN])
{
	size_t len = 0;
	int byte;

	while ((byte = next_byte(r)) >= 0 && byte != '\n')
		if (len < LINE_MAX_LEN)
			line[len++] = (char)byte;
	if (len == LINE_MAX_LEN)
		len = 0;
	line[len] = '\0';
	return byte >= 0 || len > 0;
}

bool account_read(int fd, const char *name, uint32_t id, struct account *ret)
{
	const struct question q = { name, id };
	struct reader r = { .fd = fd };
	char line[LINE_MAX_LEN];

	while (next_line(&r, line))
		if (take_line(line, &q, ret))
			return true;
	return false;
}

/* --- groups ------------------------------------------------------------------------ */

/* Parses one line of the group file, in place.  Returns whether `user` is a member
 * of the group, and the group's id in *ret. */
static bool has_member(char *line, const char *user, uint32_t *ret)
{
	char *fields[MEMBERS + 1] = { NULL }, *member;
	size_t n = 0;

	for (char *rest = line; rest && n <= MEMBERS; n++)
		fields[n] = strsep(&rest, ":");
	if (n <= MEMBERS || !account_id(fields[ID], ret))
		return false;
	for (char *rest = fields[MEMBERS]; (member = strsep(&rest, ","));)
		if (!strcmp(member, user))
			return true;
	return false;
}

size_t account_groups(int fd, const char *user, uint32_t *ids, size_t max)
{
	struct reader r = { .fd = fd };
	char line[LINE_MAX_LEN];
	size_t count = 0;
	uint32_t id;

	while (next_line(&r, line)) {
		if (!has_member(line, user, &id))
			continue;
		if (count < max)
			ids[count] = id;
		count++;
	}
	return count;
}
