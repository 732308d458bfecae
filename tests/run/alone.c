/* alone: a program that runs in an empty root directory, and prints its pid,
 * its ids, its working directory and the entries of /. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(void)
{
	char folder[PATH_MAX];
	struct dirent **entries;
	int count = scandir("/", &entries, is_shown, alphasort);

	if (count < 0 || !getcwd(folder, sizeof(folder))) {
		perror("alone");
		return 1;
	}
	printf("uid %u gid %u in %s:", getuid(), getgid(), folder);
	for (int i = 0; i < count; i++) {
		printf(" %s", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	printf("\n");
	return 0;
}
