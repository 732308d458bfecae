#include "cli/bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "sandbox/kernel/pump.h"

static int copy(int fd, struct err *e)
{
	int again = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return again < 0 ? err_sys(e, "copy descriptor %d", fd) : again;
}

static enum pump_mode mode_for(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? PUMP_FILE : PUMP_COPY;
}

/* Starts a pump for each direction; `fd` itself stays open so that poll(2) reports
 * the connection's end. */
static int start(struct pump pumps[2], int fd, struct err *e)
{
	AUTO_CLOSE int in = copy(0, e), out = copy(1, e);
	AUTO_CLOSE int there = copy(fd, e), back = copy(fd, e);

	if (in < 0 || out < 0 || there < 0 || back < 0)
		return -1;
	pump_init(&pumps[0], fd_take(&in), fd_take(&there), PUMP_COPY);
	pump_init(&pumps[1], fd_take(&back), fd_take(&out), mode_for(1));
	return 0;
}

static bool is_hung_up(int fd)
{
	struct pollfd w = { .fd = fd, .events = POLLRDHUP };

	return poll(&w, 1, 0) > 0 && (w.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static enum bridge_end carry(struct pump pumps[2], int fd)
{
	bool has_input = true;

	while (pump_is_open(&pumps[1])) {
		struct pollfd w[] = { pump_poll(&pumps[0]), pump_poll(&pumps[1]) };
		if (poll(w, ARRAY_LEN(w), -1) < 0)
			continue; /* poll(2) failed with EINTR: this process was
				   * stopped, and SIGCONT has come */
		for (size_t i = 0; i < ARRAY_LEN(w); i++)
			if (w[i].revents)
				pump_run(&pumps[i]);
		if (!has_input || pump_is_open(&pumps[0]))
			continue;
		has_input = false;
		(void)shutdown(fd, SHUT_WR); /* shutdown(2) fails if the other side has
					      * closed first, which is no error */
	}
	if (!is_hung_up(fd))
		return BRIDGE_UNREAD;
	return has_input ? BRIDGE_CLOSED : BRIDGE_DONE;
}

enum bridge_end bridge(int fd, const void *first, size_t len, struct err *e)
{
	AUTO_CLOSE int mine = fd;
	struct pump pumps[2];

	if (io_write_all(1, first, len) < 0)
		return err_sys(e, "write to stdout");
	if (start(pumps, mine, e) < 0)
		return BRIDGE_FAILED;
	enum bridge_end end = carry(pumps, mine);
	pump_done(&pumps[0]);
	pump_done(&pumps[1]);
	if (pumps[1].failed) {
		errno = pumps[1].failed;
		(void)err_sys(e, "write to stdout");
		return BRIDGE_FAILED;
	}
	return end;
}
