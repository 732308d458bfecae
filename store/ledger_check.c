#include "store/ledger_check.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/list.h"
#include "base/own.h"
#include "store/ledger.h"
#include "store/ledger_walk.h"

int ledger_check_begin(struct ledger_check *c, const struct list *anchors, struct err *e)
{
	*c = (struct ledger_check){ .anchors = anchors };
	memcpy(c->last.hex, LEDGER_NO_ENTRY, sizeof(c->last.hex));
	if (anchors->count > LEDGER_ANCHORS_MAX)
		return err_set(e, ERR_USAGE, "--anchor: %d are the most",
			       LEDGER_ANCHORS_MAX);
	for (size_t i = 0; i < anchors->count; i++)
		if (!digest_is_hex(anchors->items[i]))
			return err_set(e, ERR_USAGE,
				       "--anchor %.80s: 64 of 0-9 a-f were expected",
				       anchors->items[i]);
	return 0;
}

/* Marks the anchors that are equal to the hash of an entry; returns whether there is
 * such an anchor. */
static bool meet(struct ledger_check *c, const struct digest *hash)
{
	bool is_one = false;

	for (size_t i = 0; i < c->anchors->count; i++)
		if (!strcmp(c->anchors->items[i], hash->hex)) {
			c->met |= 1ull << i;
			is_one = true;
		}
	return is_one;
}

static int broken(const struct ledger_line *line, struct err *e, const char *why)
{
	return err_set(e, ERR_REFUSED, "log.%u:%llu: %s", line->file,
		       (unsigned long long)line->number, why);
}

static bool is_marked(const struct ledger_line *line)
{
	size_t n = strlen(LEDGER_TORN);

	return line->len >= n && !memcmp(line->text + line->len - n, LEDGER_TORN, n);
}

static int not_an_entry(const struct ledger_check *c, struct err *e)
{
	return err_set(e, ERR_REFUSED, "log.%u:%llu: it is no entry", c->torn_file,
		       (unsigned long long)c->torn_line);
}

/* Counts a part of a line that a killed writer left; the next entry must report it. */
static void add_torn(struct ledger_check *c, const struct ledger_line *line)
{
	if (!c->torn_len) {
		sha256_begin(&c->torn);
		c->torn_file = line->file;
		c->torn_line = line->number;
	}
	sha256_add(&c->torn, line->text, line->len);
	c->torn_len += line->len;
	c->may_be_torn = line->text[line->len - 1] != '\n' || is_marked(line);
}

static int check_torn(struct ledger_check *c, const struct ledger_line *line,
		      const struct ledger_entry *entry, struct err *e)
{
	bool says_so = entry->event_len == strlen(LEDGER_TORN_EVENT) &&
		       !memcmp(entry->event, LEDGER_TORN_EVENT, entry->event_len);
	const char *rest = entry->event + entry->event_len;
	struct digest digest;

	if (!c->torn_len)
		return says_so ? broken(line, e,
					"it tells of a part of a line before it, which is "
					"not there")
			       : 0;
	sha256_end(&c->torn, &digest);
	AUTO_FREE char *expected = text_format("\",\"bytes\":%llu,\"sha256\":\"%s\"}\n",
					       (unsigned long long)c->torn_len,
					       digest.hex);
	size_t left = line->len - (size_t)(rest - line->text);
	if (!says_so || !c->may_be_torn || strlen(expected) != left ||
	    memcmp(rest, expected, left))
		return not_an_entry(c, e);
	c->torn_len = 0;
	c->torn_count++;
	return 0;
}

/* Checks the first entry that the ledger still has: its `prev` and `seq` say from
 * which removed entry it continues. */
static int check_first(struct ledger_check *c, const struct ledger_line *line,
		       const struct ledger_entry *entry, struct err *e)
{
	c->first = entry->seq;
	if (entry->seq == 1)
		return 0;
	if (!meet(c, &entry->prev)) {
		(void)err_set(e, ERR_REFUSED,
			      "log.%u:%llu: the log begins with entry %llu; those "
			      "before it are missing",
			      line->file, (unsigned long long)line->number,
			      (unsigned long long)entry->seq);
		return err_remedy(
			e, "if you have moved them elsewhere, --anchor takes the hash of "
			   "the last of them");
	}
	c->last = entry->prev;
	c->seq = entry->seq - 1;
	return 0;
}

static int check_follows(const struct ledger_check *c, const struct ledger_line *line,
			 const struct ledger_entry *entry, struct err *e)
{
	if (!digest_equal(&entry->prev, &c->last))
		return err_set(e, ERR_REFUSED,
			       "log.%u:%llu: it does not follow from entry %llu "
			       "before it: that one was changed, or something "
			       "between them is missing or new",
			       line->file, (unsigned long long)line->number,
			       (unsigned long long)c->seq);
	if (entry->seq != c->seq + 1)
		return err_set(e, ERR_REFUSED,
			       "log.%u:%llu: its number is %llu, behind entry %llu",
			       line->file, (unsigned long long)line->number,
			       (unsigned long long)entry->seq,
			       (unsigned long long)c->seq);
	return 0;
}

static void note_time(char to[LEDGER_TIME_MAX], const struct ledger_entry *entry)
{
	(void)snprintf(to, LEDGER_TIME_MAX, "%.*s",
		       (int)(entry->time_len < LEDGER_TIME_MAX ? entry->time_len
							       : LEDGER_TIME_MAX),
		       entry->time);
}

int ledger_check_line(struct ledger_check *c, const struct ledger_line *line,
		      struct err *e)
{
	struct ledger_entry entry;

	if (!ledger_read_entry(line->text, line->len, &entry)) {
		add_torn(c, line);
		return 0;
	}
	if (check_torn(c, line, &entry, e) < 0 ||
	    (!c->entries && check_first(c, line, &entry, e) < 0) ||
	    check_follows(c, line, &entry, e) < 0)
		return -1;
	note_time(c->entries ? c->ended : c->begun, &entry);
	note_time(c->ended, &entry);
	c->entries++;
	c->seq = entry.seq;
	sha256_bytes(line->text, line->len, &c->last);
	(void)meet(c, &c->last);
	return 0;
}

/* After the last entry there may only be one incomplete line. */
int ledger_check_end(const struct ledger_check *c, struct err *e)
{
	if (c->torn_len && !c->may_be_torn)
		return not_an_entry(c, e);
	for (size_t i = 0; i < c->anchors->count; i++)
		if (!(c->met & 1ull << i))
			return err_set(e, ERR_REFUSED,
				       "no entry has the hash %s (--anchor): the "
				       "one that had it is missing or was changed",
				       c->anchors->items[i]);
	return 0;
}
