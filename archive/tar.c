#include "archive/tar.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/own.h"

/* The offset and length of a header's field. */
struct field {
	size_t at, len;
};
static const struct field NAME = { 0, 100 }, MODE = { 100, 8 }, UID = { 108, 8 },
			  GID = { 116, 8 }, SIZE = { 124, 12 }, MTIME = { 136, 12 },
			  SUM = { 148, 8 }, LINK = { 157, 100 }, MAGIC = { 257, 8 },
			  PREFIX = { 345, 155 };
#define FLAG 156

/* The prefix of an extended attribute's name in the key of a pax record. */
#define PAX_XATTR "SCHILY.xattr."

/* --- reading ----------------------------------------------------------------- */

bool tar_is_end(const uint8_t *block)
{
	for (size_t i = 0; i < TAR_BLOCK; i++)
		if (block[i])
			return false;
	return true;
}

static int not_one(struct err *e, const char *what)
{
	return err_set(e, ERR_PROTOCOL, "this is no tar, or a damaged one: %s", what);
}

/* Reads one of GNU's binary numbers: the highest bit of the field marks such a number,
 * and the next bit is the sign. */
static int get_binary(const uint8_t *at, size_t len, int64_t *ret)
{
	bool is_negative = *at & 0x40;
	uint64_t value = is_negative ? ~UINT64_C(0x3f) | (*at & 0x3f) : *at & 0x3f;

	for (size_t i = 1; i < len; i++) {
		uint64_t lost = value >> 55;
		if (lost != (is_negative ? 0x1ff : 0))
			return -1;
		value = value << 8 | at[i];
	}
	*ret = (int64_t)value;
	return 0;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\0';
}

static int get_octal(const uint8_t *at, size_t len, int64_t *ret)
{
	int64_t value = 0; /* at most 12 octal digits */
	size_t i = 0;

	while (i < len && is_blank(at[i]))
		i++;
	for (; i < len && at[i] >= '0' && at[i] <= '7'; i++)
		value = value * 8 + (at[i] - '0');
	if (i < len && !is_blank(at[i]))
		return -1;
	*ret = value;
	return 0;
}

static int get_number(const uint8_t *block, struct field f, int64_t *ret)
{
	const uint8_t *at = block + f.at;

	return *at & 0x80 ? get_binary(at, f.len, ret) : get_octal(at, f.len, ret);
}

static int get_count(const uint8_t *block, struct field f, uint64_t *ret)
{
	int64_t value;

	if (get_number(block, f, &value) < 0 || value < 0)
		return -1;
	*ret = (uint64_t)value;
	return 0;
}

/* Returns whether the block's checksum is right.  Old tars summed the bytes up as
 * signed numbers on machines whose char is signed, so that sum counts, too. */
static bool has_its_sum(const uint8_t *block)
{
	int64_t expected, plain = 0, old = 0;

	if (get_number(block, SUM, &expected) < 0)
		return false;
	for (size_t i = 0; i < TAR_BLOCK; i++) {
		uint8_t byte = i - SUM.at < SUM.len ? ' ' : block[i];
		plain += byte;
		old += (int8_t)byte;
	}
	return expected == plain || expected == old;
}

/* Copies the text of a field, which ends at a 0 or at the field's end. */
static size_t get_text(const uint8_t *block, struct field f, char *to)
{
	size_t len = strnlen((const char *)block + f.at, f.len);

	memcpy(to, block + f.at, len);
	to[len] = '\0';
	return len;
}

/* Puts the path together from two fields.  In POSIX tars the field PREFIX has the
 * front part of a long name; GNU tar uses that field for other things. */
static void get_path(const uint8_t *block, char path[257])
{
	size_t len = 0;

	if (memcmp(block + MAGIC.at, "ustar", 6) == 0)
		len = get_text(block, PREFIX, path);
	if (len > 0)
		path[len++] = '/';
	(void)get_text(block, NAME, path + len);
}

static enum tar_type type_of(char flag)
{
	switch (flag) {
	case '\0':
	case '0':
	case '7': /* a "contiguous" file, read as a regular file */
		return TAR_FILE;
	case '1':
		return TAR_HARD_LINK;
	case '2':
		return TAR_LINK;
	case '5':
		return TAR_FOLDER;
	case 'x':
	case 'X': /* Solaris' pax header */
		return TAR_PAX;
	case 'g':
		return TAR_PAX_ALL;
	case 'L':
		return TAR_LONG_NAME;
	case 'K':
		return TAR_LONG_LINK;
	case 'V':
		return TAR_LABEL;
	case 'S':
	case 'M':
	case 'D':
	case 'N':
		return TAR_UNREADABLE;
	default:
		return TAR_OTHER;
	}
}

/* Returns whether entries of this type have no content, whatever their size says
 * (POSIX; a folder's size is its quota). */
static bool is_header_only(char flag)
{
	return flag >= '1' && flag <= '6';
}

static int get_numbers(const uint8_t *block, struct tar_entry *to)
{
	uint64_t mode;

	if (get_count(block, MODE, &mode) < 0 ||
	    get_count(block, UID, &to->uid) < 0 ||
	    get_count(block, GID, &to->gid) < 0 ||
	    get_count(block, SIZE, &to->size) < 0 ||
	    get_number(block, MTIME, &to->mtime) < 0)
		return -1;
	to->mode = mode & 07777;
	if (is_header_only(to->flag))
		to->size = 0;
	return 0;
}

int tar_decode(const uint8_t *block, struct tar_entry *ret, struct tar_text *text,
	       struct err *e)
{
	char flag = (char)block[FLAG];
	struct tar_entry entry = { .type = type_of(flag), .flag = flag };

	if (!has_its_sum(block))
		return not_one(e, "a header's checksum is wrong");
	if (get_numbers(block, &entry) < 0)
		return not_one(e, "a number in a header is none");
	get_path(block, text->path);
	(void)get_text(block, LINK, text->link);
	entry.path = text->path;
	entry.link = text->link;
	*ret = entry;
	return 0;
}

/* --- reading pax records ----------------------------------------------------- */

/* Reads digits up to the first other character, and moves *at after the digits.  A
 * number that does not fit is an error. */
static int scan_count(const char **at, uint64_t *ret)
{
	const char *digits = *at;
	uint64_t value = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++) {
		uint64_t digit = (uint64_t)(**at - '0');
		if (value > (INT64_MAX - digit) / 10)
			return -1;
		value = value * 10 + digit;
	}
	*ret = value;
	return *at > digits ? 0 : -1;
}

static int get_decimal(const char *text, uint64_t *ret)
{
	uint64_t value;

	if (scan_count(&text, &value) < 0 || *text)
		return -1;
	*ret = value;
	return 0;
}

/* Reads the digits after a decimal point as billionths; digits after the ninth are
 * ignored. */
static int get_fraction(const char *text, uint32_t *ret)
{
	uint32_t ns = 0, unit = 100000000;

	for (; *text >= '0' && *text <= '9'; text++, unit /= 10)
		ns += (uint32_t)(*text - '0') * unit;
	*ret = ns;
	return *text ? -1 : 0;
}

static int get_time(const char *text, struct tar_pax *to)
{
	bool is_before = *text == '-';
	uint64_t seconds;
	uint32_t ns = 0;

	text += is_before;
	if (scan_count(&text, &seconds) < 0 || (*text && *text != '.') ||
	    (*text && get_fraction(text + 1, &ns) < 0))
		return -1;
	to->mtime = is_before ? -(int64_t)seconds : (int64_t)seconds;
	if (is_before && ns > 0) {
		to->mtime--;
		ns = 1000000000 - ns;
	}
	to->mtime_ns = ns;
	to->has_mtime = true;
	return 0;
}

/* Reads a number of a pax record.  An empty value cancels the value of an earlier
 * record (POSIX, pax). */
static int get_some(const char *value, uint64_t *to, bool *has)
{
	*has = *value;
	return *value ? get_decimal(value, to) : 0;
}

/* One record of an entry's pax header. */
struct pax_record {
	const char *key, *value; /* key and value each end with a 0 byte */
	size_t value_len;
};

static bool is_xattr(const char *key)
{
	return !strncmp(key, PAX_XATTR, strlen(PAX_XATTR));
}

static void add_xattr(struct tar_pax *to, const struct pax_record *r)
{
	if (to->xattr_count < TAR_XATTRS_MAX)
		to->xattrs[to->xattr_count] = (struct tar_xattr){
			.name = r->key + strlen(PAX_XATTR),
			.value = r->value,
			.len = r->value_len,
		};
	to->xattr_count++;
}

static int read_record(const struct pax_record *r, struct tar_pax *to)
{
	const char *key = r->key, *value = r->value;

	if (is_xattr(key))
		add_xattr(to, r);
	else if (!strcmp(key, "path"))
		to->path = *value ? value : NULL;
	else if (!strcmp(key, "linkpath"))
		to->link = *value ? value : NULL;
	else if (!strcmp(key, "size"))
		return get_some(value, &to->size, &to->has_size);
	else if (!strcmp(key, "uid"))
		return get_some(value, &to->uid, &to->has_uid);
	else if (!strcmp(key, "gid"))
		return get_some(value, &to->gid, &to->has_gid);
	else if (!strcmp(key, "mtime") && *value)
		return get_time(value, to);
	else if (!strcmp(key, "mtime"))
		to->has_mtime = false;
	return 0;
}

/* Returns whether the value of this key is used as a C string, and so must have no 0
 * byte in it.  Other values may have one. */
static bool is_text(const char *key)
{
	return !strcmp(key, "path") || !strcmp(key, "linkpath");
}

/* Splits a record "LEN KEY=VALUE\n" at `at`.  LEN counts the whole record, and is put
 * into *ret_len. */
static int split_record(char *at, size_t left, struct pax_record *ret, size_t *ret_len)
{
	const char *text = at;
	uint64_t len;

	/* A 0 follows the last record, so scan_count() cannot read past the records. */
	if (scan_count(&text, &len) < 0 || *text != ' ' || len > left)
		return -1;
	size_t front = (size_t)(text - at) + 1;
	if (len <= front || at[len - 1] != '\n')
		return -1;
	at[len - 1] = '\0';
	char *equals = memchr(at + front, '=', len - front);
	if (!equals)
		return -1;
	*equals = '\0';
	*ret = (struct pax_record){ .key = at + front, .value = equals + 1 };
	ret->value_len = (size_t)(at + len - 1 - ret->value);
	*ret_len = len;
	return is_text(ret->key) && strlen(ret->value) != ret->value_len ? -1 : 0;
}

int tar_pax_decode(char *records, size_t len, struct tar_pax *to, struct err *e)
{
	struct pax_record r;
	size_t used;

	for (size_t at = 0; at < len; at += used) {
		if (split_record(records + at, len - at, &r, &used) < 0)
			return not_one(e, "a pax record is none");
		if (!strncmp(r.key, "GNU.sparse.", strlen("GNU.sparse.")))
			return err_set(e, ERR_UNSUPPORTED,
				       "a sparse file in GNU tar's form cannot be read; "
				       "tar without --sparse writes another form");
		if (read_record(&r, to) < 0)
			return not_one(e, "a number in a pax record is none");
	}
	return 0;
}

void tar_pax_apply(const struct tar_pax *from, struct tar_entry *to)
{
	if (from->path)
		to->path = from->path;
	if (from->link)
		to->link = from->link;
	if (from->has_size && !is_header_only(to->flag))
		to->size = from->size;
	if (from->has_uid)
		to->uid = from->uid;
	if (from->has_gid)
		to->gid = from->gid;
	if (from->has_mtime) {
		to->mtime = from->mtime;
		to->mtime_ns = from->mtime_ns;
	}
}

/* --- writing ----------------------------------------------------------------- */

/* Appends `data`.  The append cannot fail: tar_encode()'s comment tells the caller how
 * much room the buffer must have. */
static void put(struct buffer *out, const void *data, size_t len)
{
	memcpy(mem_or_abort(buffer_reserve(out, len)), data, len);
	buffer_added(out, len);
}

static void put_padding(struct buffer *out, uint64_t size)
{
	static const uint8_t zeros[TAR_BLOCK];

	put(out, zeros, (size_t)(tar_padded(size) - size));
}

/* Writes octal digits and a 0 after them.  A number that does not fit into the field
 * is written as 0 in the header, and in a pax record as it is. */
static void set_number(uint8_t *block, struct field f, uint64_t value)
{
	if (value >> (3 * (f.len - 1)))
		value = 0;
	for (size_t i = f.len - 1; i-- > 0; value >>= 3)
		block[f.at + i] = (uint8_t)('0' + (value & 7));
}

static void set_text(uint8_t *block, struct field f, const char *text, size_t len)
{
	memcpy(block + f.at, text, len < f.len ? len : f.len);
}

static void set_sum(uint8_t *block)
{
	uint64_t sum = 0;

	memset(block + SUM.at, ' ', SUM.len);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += block[i];
	set_number(block, (struct field){ SUM.at, SUM.len - 1 }, sum);
}

/* A path in the form of a header, in which the path of a folder ends with a slash. */
struct name {
	const char *text;
	size_t len;   /* length of the path without the final slash */
	size_t slash; /* 1: a final slash is added, since the path is that of a folder;
		       * else 0 */
	size_t split; /* how many bytes of the path go into the field PREFIX; 0: none */
	bool fits;
};

/* Chooses where to split a long path.  Both parts must fit into their fields; the
 * slash between them belongs to neither. */
static void split_name(struct name *n)
{
	size_t all = n->len + n->slash;

	n->fits = all <= NAME.len;
	size_t last = n->len - 1 < PREFIX.len ? n->len - 1 : PREFIX.len;
	for (size_t i = all - NAME.len - 1; !n->fits && i <= last; i++)
		if (i > 0 && n->text[i] == '/') {
			n->split = i;
			n->fits = true;
		}
}

static struct name name_of(const struct tar_entry *entry)
{
	struct name n = {
		.text = entry->path,
		.len = strlen(entry->path),
		.slash = entry->type == TAR_FOLDER,
	};

	split_name(&n);
	return n;
}

static void set_name(uint8_t *block, const struct name *n)
{
	size_t from = n->split ? n->split + 1 : 0, len = n->len - from;

	set_text(block, PREFIX, n->text, n->split);
	set_text(block, NAME, n->text + from, len);
	if (n->slash && len < NAME.len)
		block[NAME.at + len] = '/';
}

struct record {
	const char *key;
	const char *value; /* NULL: the record is not written */
	size_t len;	   /* bytes of the value */
	bool has_slash;	   /* a slash is added after the value */
	char text[48];
};

enum { PATH, LINKPATH, BYTES, OWNER, GROUP, TIME, RECORDS };

static size_t digits_of(size_t n)
{
	size_t digits = 1;

	while (n /= 10)
		digits++;
	return digits;
}

/* Returns the length of a record, which includes the digits of the length itself. */
static size_t record_len(const struct record *r)
{
	size_t rest = strlen(r->key) + r->len + r->has_slash + strlen(" =\n");
	size_t len = rest + digits_of(rest);

	return rest + digits_of(len);
}

static void put_record(struct buffer *out, const struct record *r)
{
	AUTO_FREE char *front = text_format("%zu %s=", record_len(r), r->key);

	put(out, front, strlen(front));
	put(out, r->value, r->len);
	put(out, r->has_slash ? "/\n" : "\n", (size_t)1 + r->has_slash);
}

static void record_count(struct record *r, const char *key, uint64_t value,
			 struct field f)
{
	if (!(value >> (3 * (f.len - 1))))
		return;
	int len = snprintf(r->text, sizeof(r->text), "%" PRIu64, value);
	r->key = key;
	r->value = r->text;
	r->len = (size_t)len;
}

/* Writes a time as seconds and a fraction.  A time before 1970 is written as a minus
 * sign and the distance to 1970. */
static void record_time(struct record *r, const struct tar_entry *entry)
{
	bool is_before = entry->mtime < 0, is_whole = entry->mtime_ns == 0;
	uint64_t seconds = (uint64_t)entry->mtime;
	uint32_t ns = entry->mtime_ns;

	if (is_whole && !is_before && !(seconds >> (3 * (MTIME.len - 1))))
		return;
	if (is_before)
		seconds = -seconds - !is_whole;
	if (is_before && !is_whole)
		ns = 1000000000 - ns;
	int len = snprintf(r->text, sizeof(r->text), "%s%" PRIu64 ".%09" PRIu32,
			   is_before ? "-" : "", seconds, ns);
	r->key = "mtime";
	r->value = r->text;
	r->len = (size_t)len;
}

static void record_texts(struct record r[RECORDS], const struct tar_entry *entry,
			 const struct name *n)
{
	size_t len = entry->link ? strlen(entry->link) : 0;

	if (!n->fits)
		r[PATH] = (struct record){ .key = "path", .value = n->text, .len = n->len,
					   .has_slash = n->slash };
	if (len > LINK.len)
		r[LINKPATH] = (struct record){ .key = "linkpath", .value = entry->link,
					       .len = len };
}

/* Sets the fields that every header has. */
static void set_common(uint8_t *block, char flag, uint64_t size)
{
	block[FLAG] = (uint8_t)flag;
	set_text(block, MAGIC, "ustar\00000", 8);
	set_number(block, SIZE, size);
	/* The device numbers are 0, but they are written: some readers require digits
	 * there. */
	set_number(block, (struct field){ 329, 8 }, 0);
	set_number(block, (struct field){ 337, 8 }, 0);
}

/* Writes an attribute as libarchive and GNU tar do: the value is not encoded. */
static void put_xattr(struct buffer *out, const struct tar_xattr *x, uint64_t *ret_len)
{
	AUTO_FREE char *key = text_format("SCHILY.xattr.%s", x->name);
	const struct record r = { .key = key, .value = x->value, .len = x->len };

	*ret_len += record_len(&r);
	if (out)
		put_record(out, &r);
}

static void put_records(struct buffer *out, const struct record r[RECORDS],
			const struct tar_entry *entry)
{
	uint8_t block[TAR_BLOCK] = { 0 };
	uint64_t size = 0, again = 0;

	for (size_t i = 0; i < RECORDS; i++)
		size += r[i].value ? record_len(&r[i]) : 0;
	for (size_t i = 0; i < entry->xattr_count; i++)
		put_xattr(NULL, &entry->xattrs[i], &size);
	if (size == 0)
		return;
	set_common(block, 'x', size);
	set_text(block, NAME, "PaxHeaders/entry", 16);
	set_number(block, MODE, 0644);
	set_number(block, UID, 0);
	set_number(block, GID, 0);
	set_number(block, MTIME, 0);
	set_sum(block);
	put(out, block, sizeof(block));
	for (size_t i = 0; i < RECORDS; i++)
		if (r[i].value)
			put_record(out, &r[i]);
	for (size_t i = 0; i < entry->xattr_count; i++)
		put_xattr(out, &entry->xattrs[i], &again);
	put_padding(out, size);
}

static void put_header(struct buffer *out, const struct tar_entry *entry,
		       const struct name *n)
{
	static const char flags[] = { [TAR_FILE] = '0', [TAR_HARD_LINK] = '1',
				      [TAR_LINK] = '2', [TAR_FOLDER] = '5' };
	uint8_t block[TAR_BLOCK] = { 0 };

	char flag = entry->type == TAR_OTHER ? entry->flag : flags[entry->type];

	set_common(block, flag, entry->size);
	set_name(block, n);
	if (entry->link)
		set_text(block, LINK, entry->link, strlen(entry->link));
	set_number(block, MODE, entry->mode & 07777);
	set_number(block, UID, entry->uid);
	set_number(block, GID, entry->gid);
	set_number(block, MTIME, entry->mtime < 0 ? 0 : (uint64_t)entry->mtime);
	set_sum(block);
	put(out, block, sizeof(block));
}

void tar_encode(struct buffer *out, const struct tar_entry *entry)
{
	const struct name n = name_of(entry);
	struct record records[RECORDS] = { 0 };

	record_texts(records, entry, &n);
	record_count(&records[BYTES], "size", entry->size, SIZE);
	record_count(&records[OWNER], "uid", entry->uid, UID);
	record_count(&records[GROUP], "gid", entry->gid, GID);
	record_time(&records[TIME], entry);
	put_records(out, records, entry);
	put_header(out, entry, &n);
}
