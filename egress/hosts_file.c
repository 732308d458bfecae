#include "egress/hosts_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/list.h"
#include "base/own.h"

#define BLANKS " \t\r\v\f"

struct hosts_entry {
	char *name; /* owned */
	struct address address;
};

static void add(struct hosts_file *h, const char *text, const struct address *a)
{
	struct host_name name;

	if (h->count == HOSTS_FILE_NAMES_MAX ||
	    host_name_read(&name, text, strlen(text)) != HOST_NAME_GOOD)
		return;
	/* Room is made at each power of two. */
	if (!(h->count & (h->count - 1))) {
		size_t room = h->count ? h->count * 2 : 1;
		h->entries = realloc(h->entries, room * sizeof(*h->entries));
		if (!h->entries)
			abort();
	}
	h->entries[h->count++] = (struct hosts_entry){ text_copy(name.text), *a };
}

static void take_line(struct hosts_file *h, char *line)
{
	struct address a;
	char *rest = NULL, *word;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, BLANKS, &rest);
	if (!word || !address_parse(word, strlen(word), &a))
		return;
	while ((word = strtok_r(NULL, BLANKS, &rest)))
		add(h, word, &a);
}

void hosts_file_parse(struct hosts_file *h, const char *text, size_t len)
{
	AUTO_FREE char *copy = strndup(text, len);
	char *rest = copy;

	if (!copy)
		abort();
	*h = (struct hosts_file){ 0 };
	for (char *line; (line = strsep(&rest, "\n"));)
		take_line(h, line);
}

void hosts_file_read(struct hosts_file *h, const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;

	*h = (struct hosts_file){ 0 };
	if (fd >= 0 && io_read_file(fd, path, HOSTS_FILE_MAX, &text, &len, NULL) == 0)
		hosts_file_parse(h, text, len);
}

void hosts_file_done(struct hosts_file *h)
{
	for (size_t i = 0; i < h->count; i++)
		free(h->entries[i].name);
	free(h->entries);
	*h = (struct hosts_file){ 0 };
}

bool hosts_file_find(const struct hosts_file *h, const char *name, struct resolved *ret)
{
	struct resolved r = { .status = RESOLVED_FOUND };

	for (size_t i = 0; i < h->count; i++)
		if (!strcmp(h->entries[i].name, name))
			resolved_add(&r, &h->entries[i].address);
	if (r.count)
		*ret = r;
	return r.count > 0;
}
