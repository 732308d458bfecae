/* oci_notify -- tells NOTIFY_SOCKET that this process is ready, with another line before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
	static const char text[] = "STATUS=up\nREADY=1";
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (!path || strlen(path) >= sizeof(to.sun_path) || fd < 0)
		return 2;
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (sendto(fd, text, sizeof(text) - 1, 0, (struct sockaddr *)&to, sizeof(to)) <
	    0) {
		perror("sendto");
		return 1;
	}
	return 0;
}
