/* keys -- what a terminal sends for a key, by the key's name.
 *
 * The names are tmux's: C-a to C-z, C-\, C-], C-[, C-^, C-_, C-@, Enter, Tab,
 * BTab, Space, BSpace, Escape, Up, Down, Left, Right, Home, End, PgUp, PgDn, DC,
 * IC, F1 to F12; the sequences are those of TERM=tmux-256color and xterm. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/frame.h"

#define KEY_MAX 8

/* The bytes of a key; 0 when there is no such key. */
size_t key_find(struct bytes name, char ret[KEY_MAX]);

/* True for what the terminal turns into a signal: C-c, C-\, C-z. */
bool key_is_signal(const char *bytes, size_t len);
