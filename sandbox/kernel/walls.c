#include "sandbox/kernel/walls.h"

bool wall_stands(enum wall wall)
{
	(void)wall;
	return true;
}
