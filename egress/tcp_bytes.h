/* tcp_bytes -- how many bytes the kernel has carried on a TCP connection (tcp(7)). */
#pragma once
#include <stdint.h>

struct tcp_bytes {
	uint64_t up;   /* that were sent, without repetitions */
	uint64_t down; /* that have come */
};

/* Gives zeros for a descriptor that is no TCP socket. */
struct tcp_bytes tcp_bytes_of(int fd);
