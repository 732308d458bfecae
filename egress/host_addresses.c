#include "egress/host_addresses.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"

struct question {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr attribute;
	uint8_t address[16];
};

int host_addresses_open(struct err *e)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
				   NETLINK_ROUTE);

	if (fd < 0)
		return err_sys(e, "netlink socket");
	/* A connected socket takes messages of the kernel alone (netlink(7): port 0). */
	if (connect(fd, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return err_sys(e, "connect the netlink socket");
	return fd_take(&fd);
}

/* Drops what an earlier question may have left. */
static void drain(int socket)
{
	char bytes[64];

	while (recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
		;
}

static int ask(int socket, const struct address *a)
{
	const unsigned short bytes = a->family == 4 ? 4 : 16;
	struct question q = {
		.head = { .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = a->family == 4 ? AF_INET : AF_INET6,
			   .rtm_dst_len = (unsigned char)(bytes * 8) },
		.attribute = { .rta_len = (unsigned short)RTA_LENGTH(bytes),
			       .rta_type = RTA_DST },
	};

	memcpy(q.address, a->bytes, bytes);
	q.head.nlmsg_len = (uint32_t)(offsetof(struct question, address) + bytes);
	return send(socket, &q, q.head.nlmsg_len, MSG_DONTWAIT) < 0 ? -1 : 0;
}

enum host_addresses_answer host_addresses_ask(int socket, const struct address *a)
{
	union {
		struct nlmsghdr head;
		char bytes[4096];
	} answer;
	const struct rtmsg *route = NLMSG_DATA(&answer.head);

	drain(socket);
	if (ask(socket, a) < 0)
		return HOST_ADDRESSES_UNKNOWN;
	ssize_t len = recv(socket, &answer, sizeof(answer), MSG_DONTWAIT);
	if (len < (ssize_t)NLMSG_LENGTH(sizeof(int)))
		return HOST_ADDRESSES_UNKNOWN;
	if (answer.head.nlmsg_type == NLMSG_ERROR)
		return HOST_ADDRESSES_OTHER; /* such as ENETUNREACH */
	if (answer.head.nlmsg_type != RTM_NEWROUTE ||
	    len < (ssize_t)NLMSG_LENGTH(sizeof(*route)))
		return HOST_ADDRESSES_UNKNOWN;
	return route->rtm_type == RTN_UNICAST ? HOST_ADDRESSES_OTHER : HOST_ADDRESSES_OWN;
}
