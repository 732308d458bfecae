/* Address families that no command needs; each makes another part of the kernel
 * reachable. */
#include "tests/escape/probe.h"

#include "base/own.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#ifndef AF_MCTP
#define AF_MCTP 45
#endif

static void open_family(struct trial *t)
{
	int type = (int)t->probe->value2 >> 16;
	AUTO_CLOSE int fd = socket((int)t->probe->value, type,
				   (int)t->probe->value2 & 0xffff);

	if (fd < 0 && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT ||
		       errno == ESOCKTNOSUPPORT))
		trial_error(t, "refused", errno);
	else
		trial_call(t, fd);
}

static void open_pair(struct trial *t)
{
	int pair[2];

	trial_call(t, socketpair(AF_UNIX, (int)t->probe->value, 0, pair));
}

#define FAMILY(nm, family, type, protocol)                        \
	{ "D62", nm, .run = open_family, .value = family,         \
	  .value2 = (type) << 16 | (protocol) }
#define DGRAM(nm, family, protocol) FAMILY(nm, family, SOCK_DGRAM, protocol)
#define RAW(nm, family, protocol) FAMILY(nm, family, SOCK_RAW, protocol)

const struct probe families_probes[] = {
	DGRAM("socket-unix", AF_UNIX, 0),
	{ "D62", "socketpair-unix", .run = open_pair, .value = SOCK_STREAM },
	{ "D62", "socketpair-packets", .run = open_pair, .value = SOCK_SEQPACKET },
	DGRAM("socket-inet", AF_INET, 0),
	DGRAM("socket-inet6", AF_INET6, 0),
	RAW("netlink-route", AF_NETLINK, NETLINK_ROUTE),
	RAW("netlink-generic", AF_NETLINK, NETLINK_GENERIC),
	RAW("netlink-netfilter", AF_NETLINK, NETLINK_NETFILTER),
	RAW("netlink-uevent", AF_NETLINK, NETLINK_KOBJECT_UEVENT),
	RAW("netlink-audit", AF_NETLINK, NETLINK_AUDIT),
	RAW("netlink-xfrm", AF_NETLINK, NETLINK_XFRM),
	RAW("netlink-crypto", AF_NETLINK, NETLINK_CRYPTO),
	RAW("netlink-sock-diag", AF_NETLINK, NETLINK_SOCK_DIAG),
	FAMILY("socket-vsock", AF_VSOCK, SOCK_STREAM, 0),
	RAW("socket-packet", AF_PACKET, 0),
	DGRAM("socket-packet-cooked", AF_PACKET, 0),
	FAMILY("socket-alg", AF_ALG, SOCK_SEQPACKET, 0),
	RAW("socket-xdp", AF_XDP, 0),
	RAW("socket-bluetooth", AF_BLUETOOTH, 1),
	RAW("socket-can", AF_CAN, 1),
	RAW("socket-raw-icmp", AF_INET, IPPROTO_ICMP),
	RAW("socket-raw-icmp6", AF_INET6, IPPROTO_ICMPV6),
	RAW("socket-raw-ip", AF_INET, IPPROTO_RAW),
	RAW("socket-key", AF_KEY, 2),
	FAMILY("socket-rds", AF_RDS, SOCK_SEQPACKET, 0),
	FAMILY("socket-tipc", AF_TIPC, SOCK_SEQPACKET, 0),
	FAMILY("socket-smc", AF_SMC, SOCK_STREAM, 0),
	DGRAM("socket-qipcrtr", AF_QIPCRTR, 0),
	DGRAM("socket-kcm", AF_KCM, 0),
	FAMILY("socket-nfc", AF_NFC, SOCK_SEQPACKET, 0),
	FAMILY("socket-x25", AF_X25, SOCK_SEQPACKET, 0),
	DGRAM("socket-ax25", AF_AX25, 0),
	DGRAM("socket-appletalk", AF_APPLETALK, 0),
	FAMILY("socket-pppox", AF_PPPOX, SOCK_STREAM, 0),
	DGRAM("socket-llc", AF_LLC, 0),
	DGRAM("socket-ieee802154", AF_IEEE802154, 0),
	DGRAM("socket-mctp", AF_MCTP, 0),
	{ 0 },
};
