#include "cli/common/fd_flag.h"

#include <fcntl.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/units.h"

#define FD_MAX 65535 /* the highest number that a flag accepts as a descriptor: it fits an
		      * int, and shells use no higher numbers */

int fd_flag_fd(const char *flag, const char *value, int *ret, struct err *e)
{
	uint64_t fd;

	if (units_parse_number(value, &fd, e) < 0) {
		(void)err_remedy(e, "the number of a descriptor that is open, as in %s=3 "
				    "3>FILE",
				 flag);
		return err_in(e, "%s", flag);
	}
	if (fd > FD_MAX || fcntl((int)fd, F_GETFD) < 0)
		return err_set(e, ERR_USAGE, "%s=%.20s: that descriptor is not open",
			       flag, value);
	*ret = (int)fd;
	return 0;
}
