/* lean -- makes a process that lives as long as a sandbox take less memory. */
#pragma once

/* Makes malloc(3) of musl take all memory from mmap(2).  Call it before the first
 * allocation from musl; blocks of the arena (arena.h) do not count.
 *
 * musl keeps the records of its groups in a page that brk(2) adds.  The heap of a static
 * program is far from its code and from its stack, so that one page takes three pages of
 * page tables.  Where brk(2) fails, musl takes the page for the records from mmap(2). */
void lean_heap(void);

/* Gives back the pages of the stack from `above` up to the environment: those of the
 * functions that called this one's caller.  `above` is __builtin_frame_address(0) of that
 * caller, which never returns and uses nothing of theirs any more.  After fork(2) the
 * other process then has its pages to itself, without a copy at its next write. */
void lean_stack(const void *above);
