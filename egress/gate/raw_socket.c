#include "egress/gate/raw_socket.h"

#include <assert.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"

/* A program for filters of sockets (Documentation/networking/filter.rst), which is given
 * the packet from its network header on for IPv4, and from that of TCP or UDP for IPv6. */
struct filter {
	struct sock_filter code[2 * RAW_SOCKET_PORTS_MAX + 10];
	unsigned short len;
};

static void add_code(struct filter *f, uint16_t code, uint32_t k, uint8_t if_not)
{
	f->code[f->len++] = (struct sock_filter){ .code = code, .jf = if_not, .k = k };
}

/* Drops packets to the port. */
static void add_port(struct filter *f, uint16_t port)
{
	add_code(f, BPF_JMP | BPF_JEQ | BPF_K, port, 1);
	add_code(f, BPF_RET | BPF_K, 0, 0);
}

/* Takes the head of SYNs without ACK, and of datagrams, but to ports that lead to the
 * gate.  The flags are read first, since most packets are no SYNs. */
static void fill_filter(struct filter *f, bool is_udp, bool is_ipv6,
			const uint16_t *ports, size_t count)
{
	enum { FLAGS = 13, SYN = 0x02, ACK = 0x10, PORT = 2, HEAD = 64 };

	if (is_ipv6)
		add_code(f, BPF_LDX | BPF_W | BPF_IMM, 0, 0);
	else
		add_code(f, BPF_LDX | BPF_B | BPF_MSH, 0, 0);
	if (!is_udp) {
		add_code(f, BPF_LD | BPF_B | BPF_IND, FLAGS, 0);
		add_code(f, BPF_ALU | BPF_AND | BPF_K, SYN | ACK, 0);
		f->code[f->len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, SYN, 1, 0);
		add_code(f, BPF_RET | BPF_K, 0, 0);
	}
	add_code(f, BPF_LD | BPF_H | BPF_IND, PORT, 0);
	add_port(f, 53);
	for (size_t i = 0; i < count && !is_udp; i++)
		add_port(f, ports[i]);
	add_code(f, BPF_RET | BPF_K, HEAD, 0);
}

int raw_socket_open(bool is_udp, bool is_ipv6, const uint16_t *ports, size_t count,
		    struct err *e)
{
	const int on = 1;
	struct filter f = { .len = 0 };
	AUTO_CLOSE int fd = socket(is_ipv6 ? AF_INET6 : AF_INET,
				   SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
				   is_udp ? IPPROTO_UDP : IPPROTO_TCP);

	assert(count <= RAW_SOCKET_PORTS_MAX);
	fill_filter(&f, is_udp, is_ipv6, ports, count);
	const struct sock_fprog program = { .len = f.len, .filter = f.code };
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ||
	    setsockopt(fd, is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
		       is_ipv6 ? IPV6_RECVORIGDSTADDR : IP_RECVORIGDSTADDR, &on,
		       sizeof(on)) < 0)
		return err_sys(e, "open a raw socket of the gateway");
	return fd_take(&fd);
}
