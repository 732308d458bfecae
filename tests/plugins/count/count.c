/* A plugin in C, without a library for JSON: counts its actions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	static char line[1 << 16];
	int count = 0;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	puts("{\"ready\":true}");
	while (fgets(line, sizeof(line), stdin)) {
		const char *call = strstr(line, "{\"call\":");
		if (call == line)
			printf("{\"call\":%ld,\"answer\":{\"content\":\"%d\"}}\n",
			       strtol(line + strlen("{\"call\":"), NULL, 10), ++count);
	}
	return 0;
}
