#include "lib/connect.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/state/pools.h"
#include "sandbox/state/state_dir.h"
#include "store/folders.h"

/* Opens a folder only if it belongs to this user and other users may not access it,
 * so that no other user can have put a socket there. */
static int open_folder(int parent, const char *path)
{
	struct stat st;
	AUTO_CLOSE int fd =
		openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return -1;
	return fd_take(&fd);
}

static int open_state(void)
{
	char path[PATH_MAX];

	if (geteuid() == 0 || !folder_path_in(FOLDER_STATE, path, sizeof(path)))
		return -1;
	return open_folder(AT_FDCWD, path);
}

static int connect_in(int folder, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* The socket's path may be longer than sun_path allows (unix(7)), so the
	 * address names the folder as /proc/self/fd/N. */
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
		       folder, name);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return fd_take(&fd);
}

int connect_straight(const char *name)
{
	AUTO_CLOSE int state = open_state();
	AUTO_CLOSE int folder = state < 0 ? -1 : open_folder(state, name);

	return folder < 0 ? -1 : connect_in(folder, STATE_DIR_SOCKET);
}

int connect_to_pool(const char *name)
{
	AUTO_CLOSE int state = open_state();
	AUTO_CLOSE int pools = state < 0 ? -1 : open_folder(state, POOLS_FOLDER);
	AUTO_CLOSE int folder = pools < 0 ? -1 : open_folder(pools, name);

	return folder < 0 ? -1 : connect_in(folder, POOLS_SOCKET);
}
