#include "store/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/io.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"
#include "store/folders.h"
#include "store/lock.h"
#include "store/sha256.h"

#define HEAD	"{\"v\":1,\"prev\":\""
#define SEQ	"\",\"seq\":"
#define TIME	",\"time\":\""
#define EVENT	"\",\"event\":\""
#define UNKNOWN UINT64_MAX
/* The end of a file is read in a piece of TAIL_MIN bytes first.  If that piece has no
 * whole entry, a larger piece is read, which must have one. */
#define TAIL_MIN 4096u
#define TAIL_MAX (2 * LEDGER_ENTRY_MAX)
/* The time between two attempts to take the lock. */
#define LOCK_STEP_NS 200000

void ledger_init(struct ledger *l)
{
	*l = (struct ledger){ .folder = -1, .file = -1, .file_max = LEDGER_FILE_MAX,
			      .wait_ms = LEDGER_WAIT_MS, .size = UNKNOWN };
}

void ledger_done(struct ledger *l)
{
	own_close(&l->file);
	own_close(&l->folder);
}

void ledger_name(unsigned number, char ret[LEDGER_NAME_MAX])
{
	(void)snprintf(ret, LEDGER_NAME_MAX, "log.%u", number);
}

/* --- an entry ------------------------------------------------------------------- */

/* Moves *at after `words`; returns false if the text does not begin with them. */
static bool skip(const char **at, const char *end, const char *words)
{
	size_t len = strlen(words);

	if ((size_t)(end - *at) < len || memcmp(*at, words, len))
		return false;
	*at += len;
	return true;
}

/* Moves *at after the next '"', and gives the text before it; false if there is no
 * '"'. */
static bool take_word(const char **at, const char *end, const char **ret, size_t *ret_len)
{
	const char *quote = memchr(*at, '"', (size_t)(end - *at));

	if (!quote)
		return false;
	*ret = *at;
	*ret_len = (size_t)(quote - *at);
	*at = quote;
	return true;
}

static bool take_digest(const char **at, const char *end, struct digest *ret)
{
	if (end - *at < DIGEST_HEX)
		return false;
	memcpy(ret->hex, *at, DIGEST_HEX);
	ret->hex[DIGEST_HEX] = '\0';
	*at += DIGEST_HEX;
	return digest_is_hex(ret->hex);
}

/* Reads a number of up to 18 digits without leading zeros; false if there is none. */
static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	uint64_t n = 0;
	int digits = 0;

	for (; *at < end && **at >= '0' && **at <= '9'; ++*at, digits++)
		n = n * 10 + (uint64_t)(**at - '0');
	*ret = n;
	return digits > 0 && digits <= 18 && (*at)[-digits] != '0';
}

bool ledger_read_entry(const char *line, size_t len, struct ledger_entry *ret)
{
	const char *at = line, *end = line + len;
	struct ledger_entry x;

	if (len < 2 || memcmp(end - 2, "}\n", 2) || memchr(line, '\n', len - 1))
		return false;
	if (!skip(&at, end, HEAD) || !take_digest(&at, end, &x.prev) || !skip(&at, end, SEQ) ||
	    !take_number(&at, end, &x.seq) || !skip(&at, end, TIME) ||
	    !take_word(&at, end, &x.time, &x.time_len) || !skip(&at, end, EVENT) ||
	    !take_word(&at, end, &x.event, &x.event_len))
		return false;
	*ret = x;
	return true;
}

static void print_time(char *to, size_t size)
{
	struct timespec now;
	struct tm tm;
	char text[32];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(to, size, "%s.%09ldZ", text, now.tv_nsec);
}

/* --- files ---------------------------------------------------------------------- */

/* Returns N of a file called "log.N"; 0: the name is not that of a ledger's file. */
static unsigned number_of(const char *name)
{
	char again[LEDGER_NAME_MAX];
	unsigned long n;

	if (strncmp(name, "log.", 4))
		return 0;
	n = strtoul(name + 4, NULL, 10);
	if (n == 0 || n >= UINT32_MAX)
		return 0;
	ledger_name((unsigned)n, again);
	return strcmp(name, again) ? 0 : (unsigned)n;
}

int ledger_range(int folder, unsigned *ret_first, unsigned *ret_last, struct err *e)
{
	unsigned first = 0, last = 0;
	struct dirent *item;
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		own_close(&fd);
		return err_sys(e, "read the folder of the audit log");
	}
	while ((item = readdir(dir))) {
		unsigned n = number_of(item->d_name);
		first = n && (!first || n < first) ? n : first;
		last = n > last ? n : last;
	}
	(void)closedir(dir);
	*ret_first = first;
	*ret_last = last;
	return 0;
}

static int open_file(int folder, unsigned number, int flags, struct err *e)
{
	char name[LEDGER_NAME_MAX];

	ledger_name(number, name);
	int fd = openat(folder, name, flags | O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? err_sys(e, "open %s of the audit log", name) : fd;
}

static int size_of(int file, uint64_t *ret, struct err *e)
{
	struct stat st;

	if (fstat(file, &st) < 0)
		return err_sys(e, "stat the audit log");
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return err_set(e, ERR_REFUSED, "the audit log is no file of yours");
	*ret = (uint64_t)st.st_size;
	return 0;
}

int ledger_lock(int folder, int operation, int wait_ms, struct err *e)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };
	int64_t now = clock_ms();
	const int64_t due = now + wait_ms;

	while (lock_take(folder, operation | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_sys(e, "lock the audit log");
		if (clock_is_due(due, now))
			return err_set(e, ERR_BUSY,
				       "another process has held the lock of the audit "
				       "log for %d s", wait_ms / 1000);
		(void)ppoll(NULL, 0, &step, NULL);
		now = clock_ms();
	}
	return 0;
}

static int open_newest(struct ledger *l, struct err *e)
{
	unsigned first, last;

	if (ledger_range(l->folder, &first, &last, e) < 0)
		return -1;
	l->number = last ? last : 1;
	l->file = open_file(l->folder, l->number, O_CREAT, e);
	return l->file < 0 ? -1 : 0;
}

int ledger_open(struct ledger *l, const char *path, struct err *e)
{
	if (folder_create(path, e) < 0)
		return -1;
	l->folder = folder_open(path, e);
	if (l->folder < 0 || ledger_lock(l->folder, LOCK_EX, l->wait_ms, e) < 0)
		return -1;
	int result = open_newest(l, e);
	(void)lock_take(l->folder, LOCK_UN);
	return result < 0 ? err_in(e, "%.300s", path) : 0;
}

/* Opens the newest file of the ledger.  Other processes may have filled the file that
 * is open and begun the next one. */
static int go_to_newest(struct ledger *l, uint64_t *ret_size, struct err *e)
{
	struct err none;

	while (size_of(l->file, ret_size, e) == 0) {
		int next = *ret_size < l->file_max ? -1
						   : open_file(l->folder, l->number + 1, 0, &none);
		if (next < 0 && (*ret_size < l->file_max || none.sys == ENOENT))
			return 0;
		if (next < 0) {
			*e = none;
			return -1;
		}
		own_close(&l->file);
		l->file = next;
		l->number++;
		l->size = UNKNOWN;
	}
	return -1;
}

/* --- the end of what is there ----------------------------------------------------- */

/* The end of the ledger, which the next entry continues. */
struct end {
	uint64_t seq;
	struct digest last;
	uint64_t torn; /* count of bytes after the last entry that belong to no entry */
	char *bytes;   /* owned: the `torn` bytes */
	bool is_marked; /* the torn bytes end with "<torn>" already: the writer that
			 * marked them was killed, too */
};

static int read_tail(int file, uint64_t size, size_t len, char *to, struct err *e)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(file, to + done, len - done, (off_t)(size - len + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_sys(e, "read the audit log");
		done += (size_t)n;
	}
	return 0;
}

/* Finds the last entry in the text, which begins in the middle of a line unless the
 * text is a whole file.  Returns the offset of the entry's end; 0: there is no entry. */
static size_t find_entry(const char *text, size_t len, bool is_whole, struct end *ret)
{
	struct ledger_entry entry;
	size_t stop = len;

	while (stop > 0 && text[stop - 1] != '\n')
		stop--;
	while (stop > 0) {
		size_t start = stop - 1;
		while (start > 0 && text[start - 1] != '\n')
			start--;
		if (start == 0 && !is_whole)
			return 0;
		if (ledger_read_entry(text + start, stop - start, &entry)) {
			ret->seq = entry.seq;
			sha256_bytes(text + start, stop - start, &ret->last);
			return stop;
		}
		stop = start;
	}
	return 0;
}

static bool ends_with(const char *text, size_t len, const char *words)
{
	size_t n = strlen(words);

	return len >= n && !memcmp(text + len - n, words, n);
}

static int no_entry(struct err *e)
{
	(void)err_set(e, ERR_REFUSED, "the end of the audit log is no entry");
	return err_remedy(e, "hutch audit verify says more; to begin anew, move the folder away");
}

/* Takes the bytes after the last entry as torn.  A complete line among them that is
 * no entry is an error: no killed writer leaves such a line. */
static int take_torn(const char *text, size_t len, struct end *ret, struct err *e)
{
	ret->is_marked = ends_with(text, len, LEDGER_TORN);
	if (len && text[len - 1] == '\n' && !ret->is_marked)
		return no_entry(e);
	ret->torn = len;
	ret->bytes = mem_copy(text, len);
	return 0;
}

/* Finds the last entry of one file.  Returns 1 if there is one, 0 if the file has
 * none. */
static int find_in_file(int file, uint64_t size, struct end *ret, struct err *e)
{
	for (size_t want = TAIL_MIN; size > 0; want = TAIL_MAX) {
		size_t len = size < want ? (size_t)size : want;
		AUTO_FREE char *text = mem_new(len);
		if (read_tail(file, size, len, text, e) < 0)
			return -1;
		size_t stop = find_entry(text, len, len == size, ret);
		if (stop || len == size)
			return take_torn(text + stop, len - stop, ret, e) < 0 ? -1 : stop > 0;
		if (want == TAIL_MAX)
			return no_entry(e);
	}
	return 0;
}

/* Finds the last entry in the file before the newest one.  Only a full file has a
 * successor, and a full file ends with an entry, so no earlier file is read. */
static int find_before(const struct ledger *l, struct end *ret, struct err *e)
{
	struct end before = { 0 };
	uint64_t size;

	if (l->number == 1) {
		ret->seq = 0;
		memcpy(ret->last.hex, LEDGER_NO_ENTRY, sizeof(ret->last.hex));
		return 0;
	}
	AUTO_CLOSE int file = open_file(l->folder, l->number - 1, 0, e);
	if (file < 0 || size_of(file, &size, e) < 0)
		return -1;
	int found = find_in_file(file, size, &before, e);
	free(before.bytes);
	if (found < 0)
		return -1;
	if (!found || before.torn)
		return err_set(e, ERR_REFUSED, "log.%u of the audit log does not end with an entry",
			       l->number - 1);
	ret->seq = before.seq;
	ret->last = before.last;
	return 0;
}

static int find_end(const struct ledger *l, uint64_t size, struct end *ret, struct err *e)
{
	if (l->size == size) {
		ret->seq = l->seq;
		ret->last = l->last;
		return 0;
	}
	int found = find_in_file(l->file, size, ret, e);
	return found != 0 ? (found < 0 ? -1 : 0) : find_before(l, ret, e);
}

/* --- adding --------------------------------------------------------------------- */

/* Appends one line to `text`, which is allocated. */
static void put_entry(char **text, struct end *end, const char *event, const char *members)
{
	char time[48];
	struct digest prev = end->last;

	print_time(time, sizeof(time));
	AUTO_FREE char *line = text_format(HEAD "%s" SEQ "%llu" TIME "%s" EVENT "%s\"%s%s}\n",
					   prev.hex, (unsigned long long)++end->seq, time, event,
					   *members ? "," : "", members);
	sha256_bytes(line, strlen(line), &end->last);
	char *longer = text_format("%s%s", *text, line);
	free(*text);
	*text = longer;
}

/* Ends the part of a line that a killed writer left, so that it can be no entry, and
 * adds the entry that reports that part. */
static void put_torn(char **text, struct end *end)
{
	struct digest digest;
	struct sha256 h;
	const char *mark = end->is_marked ? "" : LEDGER_TORN;

	if (!end->torn)
		return;
	sha256_begin(&h);
	sha256_add(&h, end->bytes, end->torn);
	sha256_add(&h, mark, strlen(mark));
	sha256_end(&h, &digest);
	free(*text);
	*text = text_copy(mark);
	AUTO_FREE char *members = text_format("\"bytes\":%llu,\"sha256\":\"%s\"",
					      (unsigned long long)(end->torn + strlen(mark)),
					      digest.hex);
	put_entry(text, end, LEDGER_TORN_EVENT, members);
}

/* Writes the whole text or nothing: after a failure the file is cut back to `size`. */
static int write_all(struct ledger *l, uint64_t size, const char *text, struct err *e)
{
	if (io_write_all(l->file, text, strlen(text)) == 0)
		return 0;
	(void)err_sys(e, "write the audit log");
	if (ftruncate(l->file, (off_t)size) < 0)
		(void)err_in(e, "a part of an entry is left");
	l->size = UNKNOWN;
	return -1;
}

static int next_file(struct ledger *l, struct err *e)
{
	int next = open_file(l->folder, l->number + 1, O_CREAT | O_EXCL, e);

	if (next < 0)
		return -1;
	own_close(&l->file);
	l->file = next;
	l->number++;
	return 0;
}

static int write_entry(struct ledger *l, struct end *end, uint64_t size, const char *text,
		       struct err *e)
{
	if (size >= l->file_max && !end->torn) {
		if (next_file(l, e) < 0)
			return -1;
		size = 0;
	}
	if (write_all(l, size, text, e) < 0)
		return -1;
	l->size = size + strlen(text);
	l->seq = end->seq;
	l->last = end->last;
	return 0;
}

static int add(struct ledger *l, const char *event, const char *members, struct err *e)
{
	AUTO_FREE char *text = text_copy("");
	struct end end = { 0 };
	uint64_t size;

	if (strlen(members) + 512 > LEDGER_ENTRY_MAX)
		return err_set(e, ERR_LIMIT, "an entry of more than %u bytes",
			       LEDGER_ENTRY_MAX);
	int result = go_to_newest(l, &size, e);
	if (result == 0)
		result = find_end(l, size, &end, e);
	if (result == 0) {
		put_torn(&text, &end);
		put_entry(&text, &end, event, members);
		result = write_entry(l, &end, size, text, e);
	}
	free(end.bytes);
	return result;
}

int ledger_add(struct ledger *l, const char *event, const char *members, bool is_lasting,
	       struct err *e)
{
	if (ledger_lock(l->folder, LOCK_EX, l->wait_ms, e) < 0)
		return -1;
	int result = add(l, event, members, e);
	(void)lock_take(l->folder, LOCK_UN);
	if (result < 0 || !is_lasting)
		return result;
	return fdatasync(l->file) < 0 ? err_sys(e, "have the disk write the audit log") : 0;
}
