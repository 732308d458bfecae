#include "bwrap/wording.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"

/* bwrap has the new root at /newroot while it makes mounts. */
static const struct {
	const char *ours, *theirs;
} beginnings[] = {
	{ "mount proc at ", "Can't mount proc on /newroot" },
	{ "mount tmpfs at ", "Can't mount tmpfs on /newroot" },
	{ "mount devpts at ", "Can't mount devpts on /newroot" },
	{ "mount mqueue at ", "Can't mount mqueue on /newroot" },
	{ "mount an overlay at ", "Can't make overlay mount on /newroot" },
	{ "make the link ", "Can't make symlink at " },
	{ "make the file ", "Can't create file at " },
	{ "make the folder ", "Can't mkdir " },
	{ "chmod ", "Can't chmod " },
};

/* The words behind a path, and the words that bwrap has in front of it. */
static const struct {
	const char *ours, *theirs;
} endings[] = {
	{ " is a link inside, and no link is followed there",
	  "Can't mount on symlink destination " },
	{ " is a file inside, and a folder is to be mounted there",
	  "Destination is not a directory " },
	{ " is a folder inside, and a file is to be mounted there",
	  "Destination is not a file " },
};

static void replace_ending(struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		const char *end = strstr(e->text, endings[i].ours);
		char text[ERR_TEXT_MAX];
		if (!end)
			continue;
		(void)snprintf(text, sizeof(text), "%s%.*s%s", endings[i].theirs,
			       (int)(end - e->text), e->text,
			       end + strlen(endings[i].ours));
		(void)memcpy(e->text, text, sizeof(text));
		return;
	}
}

int wording_of_bwrap(struct err *e)
{
	replace_ending(e);
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
		const size_t len = strlen(beginnings[i].ours);
		char text[ERR_TEXT_MAX];
		if (strncmp(e->text, beginnings[i].ours, len) != 0)
			continue;
		/* a text that is too long is cut, as everywhere */
		(void)snprintf(text, sizeof(text), "%s%.600s", beginnings[i].theirs,
			       e->text + len);
		(void)memcpy(e->text, text, sizeof(text));
		break;
	}
	return -1;
}
