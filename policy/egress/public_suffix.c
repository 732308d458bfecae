#include "policy/egress/public_suffix.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/own.h"

#define END_OF_PUBLIC "// ===END ICANN DOMAINS==="

static bool has_line(const char *list, size_t len, const char *mark, const char *name)
{
	AUTO_FREE char *line = text_format("\n%s%s\n", mark, name);

	return memmem(list, len, line, strlen(line)) != NULL;
}

bool public_suffix_find(const char *list, size_t len, const char *name)
{
	const char *end = memmem(list, len, END_OF_PUBLIC, strlen(END_OF_PUBLIC));
	const char *dot = strchr(name, '.');

	if (end)
		len = (size_t)(end - list);
	if (has_line(list, len, "", name))
		return true;
	/* "*.ck" has each name below ck but for the exceptions, which begin with '!'. */
	return dot && has_line(list, len, "*", dot) && !has_line(list, len, "!", name);
}

bool public_suffix_has(const char *name)
{
	AUTO_CLOSE int fd = open(PUBLIC_SUFFIX_LIST, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return false;
	const size_t len = (size_t)st.st_size;
	void *list = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (list == MAP_FAILED)
		return false;
	bool has = public_suffix_find(list, len, name);
	(void)munmap(list, len);
	return has;
}
