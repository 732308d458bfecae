/* no_exec -- a library for LD_PRELOAD that runs no program: execve(2) writes the
 * program's path and a 0 byte to descriptor 198, and ends the process.  The exit code is 0
 * or 1, by the process' id, so that both sides of a condition are taken. */
#include <string.h>
#include <unistd.h>

#define LOG 198

int execve(const char *path, char *const argv[], char *const env[])
{
	static const char output[] = "1 a\n";

	(void)argv;
	(void)env;
	(void)!write(LOG, path, strlen(path) + 1);
	(void)!write(1, output, sizeof(output) - 1);
	_exit(getpid() % 2);
}
