#include "executor/process/halt.h"

#include <signal.h>
#include <sys/wait.h>

enum halt_step halt_step(struct halt *h, bool is_stopped, int64_t now)
{
	if (now < h->due)
		return HALT_GOES_ON;
	h->due = now + HALT_EVERY_MS;
	if (!is_stopped)
		return HALT_GOES_ON;
	return ++h->count < HALT_MOST ? HALT_IS_CONTINUED : HALT_HAS_TAKEN_ALL;
}

/* With WNOWAIT, waitid(2) does not use the state up, but reports it again as long as the
 * child is stopped, to other callers, too. */
bool halt_has(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == pid;
}

void halt_end(pid_t pid)
{
	(void)kill(-pid, SIGCONT);
	(void)kill(pid, SIGCONT);
}
