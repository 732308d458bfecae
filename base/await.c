#include "base/await.h"

#include <errno.h>
#include <poll.h>

#include "base/clock.h"

int await_ready(int fd, short events, int64_t due)
{
	struct pollfd w = { .fd = fd, .events = events };
	int64_t now = clock_ms();
	int n;

	do {
		n = poll(&w, 1, clock_wait(due, now));
		now = clock_ms(); /* errno stays that of poll(2): a successful
				   * clock_gettime(2) does not change it */
	} while ((n < 0 && errno == EINTR) || (n == 0 && !clock_is_due(due, now)));
	return n;
}
