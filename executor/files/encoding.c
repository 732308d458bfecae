#include "executor/files/encoding.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/utf8.h"

/* --- tables ---------------------------------------------------------------- */

/* The characters of bytes 0x80 to 0xff in windows-1252. */
static const uint16_t windows_1252[128] = {
	0x20ac, 0x0081, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
	0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008d, 0x017d, 0x008f,
	0x0090, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
	0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x009d, 0x017e, 0x0178,
	0x00a0, 0x00a1, 0x00a2, 0x00a3, 0x00a4, 0x00a5, 0x00a6, 0x00a7,
	0x00a8, 0x00a9, 0x00aa, 0x00ab, 0x00ac, 0x00ad, 0x00ae, 0x00af,
	0x00b0, 0x00b1, 0x00b2, 0x00b3, 0x00b4, 0x00b5, 0x00b6, 0x00b7,
	0x00b8, 0x00b9, 0x00ba, 0x00bb, 0x00bc, 0x00bd, 0x00be, 0x00bf,
	0x00c0, 0x00c1, 0x00c2, 0x00c3, 0x00c4, 0x00c5, 0x00c6, 0x00c7,
	0x00c8, 0x00c9, 0x00ca, 0x00cb, 0x00cc, 0x00cd, 0x00ce, 0x00cf,
	0x00d0, 0x00d1, 0x00d2, 0x00d3, 0x00d4, 0x00d5, 0x00d6, 0x00d7,
	0x00d8, 0x00d9, 0x00da, 0x00db, 0x00dc, 0x00dd, 0x00de, 0x00df,
	0x00e0, 0x00e1, 0x00e2, 0x00e3, 0x00e4, 0x00e5, 0x00e6, 0x00e7,
	0x00e8, 0x00e9, 0x00ea, 0x00eb, 0x00ec, 0x00ed, 0x00ee, 0x00ef,
	0x00f0, 0x00f1, 0x00f2, 0x00f3, 0x00f4, 0x00f5, 0x00f6, 0x00f7,
	0x00f8, 0x00f9, 0x00fa, 0x00fb, 0x00fc, 0x00fd, 0x00fe, 0x00ff,
};

static const uint16_t windows_1251[128] = {
	0x0402, 0x0403, 0x201a, 0x0453, 0x201e, 0x2026, 0x2020, 0x2021,
	0x20ac, 0x2030, 0x0409, 0x2039, 0x040a, 0x040c, 0x040b, 0x040f,
	0x0452, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
	0x0098, 0x2122, 0x0459, 0x203a, 0x045a, 0x045c, 0x045b, 0x045f,
	0x00a0, 0x040e, 0x045e, 0x0408, 0x00a4, 0x0490, 0x00a6, 0x00a7,
	0x0401, 0x00a9, 0x0404, 0x00ab, 0x00ac, 0x00ad, 0x00ae, 0x0407,
	0x00b0, 0x00b1, 0x0406, 0x0456, 0x0491, 0x00b5, 0x00b6, 0x00b7,
	0x0451, 0x2116, 0x0454, 0x00bb, 0x0458, 0x0405, 0x0455, 0x0457,
	0x0410, 0x0411, 0x0412, 0x0413, 0x0414, 0x0415, 0x0416, 0x0417,
	0x0418, 0x0419, 0x041a, 0x041b, 0x041c, 0x041d, 0x041e, 0x041f,
	0x0420, 0x0421, 0x0422, 0x0423, 0x0424, 0x0425, 0x0426, 0x0427,
	0x0428, 0x0429, 0x042a, 0x042b, 0x042c, 0x042d, 0x042e, 0x042f,
	0x0430, 0x0431, 0x0432, 0x0433, 0x0434, 0x0435, 0x0436, 0x0437,
	0x0438, 0x0439, 0x043a, 0x043b, 0x043c, 0x043d, 0x043e, 0x043f,
	0x0440, 0x0441, 0x0442, 0x0443, 0x0444, 0x0445, 0x0446, 0x0447,
	0x0448, 0x0449, 0x044a, 0x044b, 0x044c, 0x044d, 0x044e, 0x044f,
};

static const uint16_t koi8_r[128] = {
	0x2500, 0x2502, 0x250c, 0x2510, 0x2514, 0x2518, 0x251c, 0x2524,
	0x252c, 0x2534, 0x253c, 0x2580, 0x2584, 0x2588, 0x258c, 0x2590,
	0x2591, 0x2592, 0x2593, 0x2320, 0x25a0, 0x2219, 0x221a, 0x2248,
	0x2264, 0x2265, 0x00a0, 0x2321, 0x00b0, 0x00b2, 0x00b7, 0x00f7,
	0x2550, 0x2551, 0x2552, 0x0451, 0x2553, 0x2554, 0x2555, 0x2556,
	0x2557, 0x2558, 0x2559, 0x255a, 0x255b, 0x255c, 0x255d, 0x255e,
	0x255f, 0x2560, 0x2561, 0x0401, 0x2562, 0x2563, 0x2564, 0x2565,
	0x2566, 0x2567, 0x2568, 0x2569, 0x256a, 0x256b, 0x256c, 0x00a9,
	0x044e, 0x0430, 0x0431, 0x0446, 0x0434, 0x0435, 0x0444, 0x0433,
	0x0445, 0x0438, 0x0439, 0x043a, 0x043b, 0x043c, 0x043d, 0x043e,
	0x043f, 0x044f, 0x0440, 0x0441, 0x0442, 0x0443, 0x0436, 0x0432,
	0x044c, 0x044b, 0x0437, 0x0448, 0x044d, 0x0449, 0x0447, 0x044a,
	0x042e, 0x0410, 0x0411, 0x0426, 0x0414, 0x0415, 0x0424, 0x0413,
	0x0425, 0x0418, 0x0419, 0x041a, 0x041b, 0x041c, 0x041d, 0x041e,
	0x041f, 0x042f, 0x0420, 0x0421, 0x0422, 0x0423, 0x0416, 0x0412,
	0x042c, 0x042b, 0x0417, 0x0428, 0x042d, 0x0429, 0x0427, 0x042a,
};

struct encoding {
	const char *name;
	const uint16_t *high; /* the characters of bytes 0x80 to 0xff in a one-byte
			       * encoding; else NULL */
	size_t unit;	      /* the bytes of one unit: 2 for UTF-16, else 1 */
	bool is_big;	      /* a unit's high byte comes first */
};

const struct encoding encoding_utf8 = { "UTF-8", .unit = 1 };
static const struct encoding utf16_le = { "UTF-16LE", .unit = 2 };
static const struct encoding utf16_be = { "UTF-16BE", .unit = 2, .is_big = true };
static const struct encoding western = { "windows-1252", windows_1252, .unit = 1 };
static const struct encoding russian = { "windows-1251", windows_1251, .unit = 1 };
static const struct encoding koi = { "KOI8-R", koi8_r, .unit = 1 };

const char *encoding_name(const struct encoding *x)
{
	return x->name;
}

/* --- guessing -------------------------------------------------------------- */

/* How many bytes at a file's beginning decide which encoding is guessed. */
#define GUESS_MAX (64u << 10)

/* Returns whether the letter is one of sixteen frequent Russian letters, which make up
 * five sixths of a Russian text. The letter with byte 0xff in windows-1251 is left out,
 * since a binary file may consist of that byte alone. */
static bool is_frequent(uint32_t c)
{
	static const uint16_t letters[] = { 0x43e, 0x435, 0x430, 0x438, 0x43d, 0x442,
					    0x441, 0x440, 0x432, 0x43b, 0x43a, 0x43c,
					    0x434, 0x43f, 0x443, 0x44b };

	if (c >= 0x410 && c < 0x430) /* capitals */
		c += 0x20;
	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		if (letters[i] == c)
			return true;
	return false;
}

static bool is_small(uint32_t c)
{
	return c >= 0x430 && c < 0x450;
}

static bool is_capital(uint32_t c)
{
	return c >= 0x410 && c < 0x430;
}

/* Returns whether bytes above 0x7f mostly stand next to each other, as in words of
 * Cyrillic letters. In Western languages such bytes mostly stand next to ASCII
 * letters. */
static bool has_words(struct bytes raw)
{
	size_t beside = 0, among = 0;

	for (size_t i = 1; i < raw.len; i++) {
		uint8_t a = raw.data[i - 1], b = raw.data[i];
		bool has_letter = ((a | 0x20) >= 'a' && (a | 0x20) <= 'z') ||
				  ((b | 0x20) >= 'a' && (b | 0x20) <= 'z');
		beside += a >= 0x80 && b >= 0x80;
		among += (a >= 0x80) != (b >= 0x80) && has_letter;
	}
	return beside > among;
}

/* Returns how much the bytes look like Russian: frequent letters count, small ones twice,
 * since texts have more of them; a small letter followed by a capital counts against it.
 * 0: the bytes do not look like Russian. */
static size_t score(const struct encoding *x, struct bytes raw)
{
	size_t frequent = 0, small = 0, high = 0, odd = 0;
	uint32_t before = 0;

	for (size_t i = 0; i < raw.len; i++) {
		uint32_t c = raw.data[i] < 0x80 ? 0 : x->high[raw.data[i] - 0x80];
		high += c != 0;
		frequent += is_frequent(c);
		small += is_frequent(c) && is_small(c);
		odd += is_small(before) && is_capital(c);
		before = c;
	}
	if (2 * frequent < high || frequent < odd)
		return 0;
	return frequent + small - odd;
}

static struct bytes sample(struct bytes raw)
{
	return (struct bytes){ raw.data, raw.len < GUESS_MAX ? raw.len : GUESS_MAX };
}

/* Returns the Russian encoding that fits better, windows-1251 or KOI8-R; NULL: the bytes
 * do not look like either. */
static const struct encoding *guess_russian(struct bytes raw)
{
	struct bytes some = sample(raw);

	if (!has_words(some))
		return NULL;
	size_t one = score(&russian, some), other = score(&koi, some);
	if (one == 0 && other == 0)
		return NULL;
	return other > one ? &koi : &russian;
}

static bool has_mark(struct bytes raw, uint8_t first, uint8_t second)
{
	return raw.len >= 2 && raw.data[0] == first && raw.data[1] == second;
}

static bool is_ascii(struct bytes raw)
{
	for (size_t i = 0; i < raw.len; i++)
		if (raw.data[i] >= 0x80)
			return false;
	return true;
}

const struct encoding *encoding_guess(struct bytes raw, const struct encoding *was)
{
	bool had_table = was && was->high;

	if (has_mark(raw, 0xff, 0xfe))
		return &utf16_le;
	if (has_mark(raw, 0xfe, 0xff))
		return &utf16_be;
	if (utf8_is_valid(raw.data, raw.len, false))
		return had_table && is_ascii(raw) ? was : &encoding_utf8;
	const struct encoding *x = had_table ? was : guess_russian(raw);
	return x ? x : &western;
}

static bool has_control(struct bytes raw)
{
	for (size_t i = 0; i < raw.len; i++)
		if (raw.data[i] < ' ' &&
		    !(raw.data[i] && strchr("\n\r\t\f\b", raw.data[i])))
			return true;
	return false;
}

bool encoding_is_russian(struct bytes raw)
{
	return !has_control(raw) && guess_russian(raw);
}

bool encoding_stays(const struct encoding *was, struct bytes raw)
{
	return was && was->high && !has_control(sample(raw));
}

/* --- characters ------------------------------------------------------------ */

static uint32_t unit_at(const struct encoding *x, struct bytes raw, size_t at)
{
	uint8_t a = raw.data[at], b = raw.data[at + 1];

	return x->is_big ? (uint32_t)a << 8 | b : (uint32_t)b << 8 | a;
}

/* Decodes the UTF-16 character at `at`. Returns its length in bytes; 0: it is invalid. */
static size_t get_utf16(const struct encoding *x, struct bytes raw, size_t at,
			uint32_t *ret)
{
	if (raw.len - at < 2)
		return 0;
	uint32_t high = unit_at(x, raw, at);
	if (high < 0xd800 || high > 0xdfff) {
		*ret = high;
		return 2;
	}
	if (high > 0xdbff || raw.len - at < 4)
		return 0;
	uint32_t low = unit_at(x, raw, at + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return 4;
}

/* Decodes the character at `at` in any encoding but UTF-8. Returns its length in bytes;
 * 0: it is invalid. */
static size_t get(const struct encoding *x, struct bytes raw, size_t at, uint32_t *ret)
{
	if (x->unit == 2)
		return get_utf16(x, raw, at, ret);
	uint8_t byte = raw.data[at];
	*ret = byte < 0x80 ? byte : x->high[byte - 0x80];
	return 1;
}

static size_t put_utf8(uint32_t c, uint8_t to[4])
{
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = len; i-- > 1; c >>= 6)
		to[i] = (uint8_t)(0x80 | (c & 0x3f));
	to[0] = (uint8_t)(first[len] | c);
	return len;
}

/* --- texts ----------------------------------------------------------------- */

static size_t first_bad(struct bytes text)
{
	size_t at = 0;

	while (at < text.len) {
		int n = utf8_char(text.data + at, text.len - at);
		if (n <= 0)
			break;
		at += (size_t)n;
	}
	return at;
}

/* Decodes the bytes up to the first invalid one, or to the end, and puts that offset into
 * *ret_bad. Returns the length of the result. */
static size_t decode(const struct encoding *x, struct bytes raw, uint8_t *to,
		     size_t *ret_bad)
{
	size_t at = 0, len = 0, used;
	uint32_t c;

	while (at < raw.len && (used = get(x, raw, at, &c)) > 0) {
		len += put_utf8(c, to + len);
		at += used;
	}
	*ret_bad = at;
	return len;
}

/* Allocates for the longest result: two bytes of UTF-16 become three of UTF-8 at most,
 * and so does one byte of a one-byte encoding. */
bool encoding_decode(const struct encoding *x, struct bytes raw, uint8_t **ret,
		     size_t *ret_len, size_t *ret_bad)
{
	if (x == &encoding_utf8) {
		*ret = NULL;
		*ret_len = raw.len;
		*ret_bad = first_bad(raw);
		return *ret_bad == raw.len;
	}
	uint8_t *to = mem_new(3 * (raw.len / x->unit) + 1);
	size_t len = decode(x, raw, to, ret_bad);
	if (*ret_bad < raw.len) {
		free(to);
		return false;
	}
	*ret = to;
	*ret_len = len;
	return true;
}

size_t encoding_place(const struct encoding *x, struct bytes raw, size_t at)
{
	size_t place = 0, decoded = 0, used;
	uint8_t character[4];
	uint32_t c;

	if (x == &encoding_utf8)
		return at;
	while (decoded < at && place < raw.len && (used = get(x, raw, place, &c)) > 0) {
		decoded += put_utf8(c, character);
		place += used;
	}
	return place;
}

static size_t put_unit(const struct encoding *x, uint32_t unit, uint8_t *to)
{
	to[x->is_big ? 0 : 1] = (uint8_t)(unit >> 8);
	to[x->is_big ? 1 : 0] = (uint8_t)unit;
	return 2;
}

/* The size of a table from characters to their bytes, which reverse() makes for a
 * one-byte encoding; no encoding here has a character beyond it. Byte 0 means that the
 * encoding lacks the character. */
#define REVERSE_MAX 0x2600

static void reverse(const struct encoding *x, uint8_t to[REVERSE_MAX])
{
	memset(to, 0, REVERSE_MAX);
	for (unsigned i = 0; x->high && i < 128; i++)
		to[x->high[i]] = (uint8_t)(0x80 + i);
}

/* Encodes one character into `to`. Returns how many bytes it takes; 0: the encoding does
 * not have it. */
static size_t put(const struct encoding *x, const uint8_t *byte_of, uint32_t c,
		  uint8_t to[4])
{
	if (x->unit == 2 && c > 0xffff)
		return put_unit(x, 0xd800 + ((c - 0x10000) >> 10), to) +
		       put_unit(x, 0xdc00 + ((c - 0x10000) & 0x3ff), to + 2);
	if (x->unit == 2)
		return put_unit(x, c, to);
	to[0] = (uint8_t)c;
	if (c < 0x80)
		return 1;
	to[0] = c < REVERSE_MAX ? byte_of[c] : 0;
	return to[0] != 0;
}

bool encoding_put(const struct encoding *x, struct bytes text, struct buffer *to,
		  uint32_t *ret_lacks)
{
	uint8_t character[4], byte_of[REVERSE_MAX];

	if (x == &encoding_utf8) {
		/* cannot fail: the caller made the buffer large enough */
		(void)buffer_append(to, text.data, text.len);
		return true;
	}
	reverse(x, byte_of);
	for (size_t at = 0, used; at < text.len; at += used) {
		used = utf8_length(text.data + at, text.len - at);
		uint32_t c = used ? utf8_code(text.data + at, used) : 0xfffd;
		size_t len = used ? put(x, byte_of, c, character) : 0;
		*ret_lacks = c;
		if (len == 0)
			return false;
		(void)buffer_append(to, character, len);
	}
	return true;
}
