/* term_keys -- the bytes that a terminal sends for a key, by the key's name.
 *
 * The names are tmux's: C-a to C-z, C-\, C-], C-[, C-^, C-_, C-@, C-?, C-Space,
 * Enter, Tab, BTab, Space, BSpace, Escape, Up, Down, Left, Right, Home, End, PgUp,
 * PgDn, PageUp, PageDown, PPage, NPage, DC, Delete, IC, Insert, F1 to F12; and those
 * of OpenHands V1's terminal: ENTER TAB BS ESC UP DOWN LEFT RIGHT HOME END PGUP PGDN,
 * CTRL+a and CTRL-a.  Only the letters behind Control and the word CTRL may be of
 * either case: text in any other spelling is no key, and may be text that a user
 * wants to type.
 *
 * The sequences are those of TERM=tmux-256color and xterm. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/frame.h"

#define KEY_MAX 8

/* Gets the bytes that the key with this name sends, and returns how many they are; 0
 * when there is no such key. */
size_t key_find(struct bytes name, char ret[KEY_MAX]);

/* Changes the bytes of key_find() to those that the key sends when the program has
 * asked for application keys (DECCKM), as less and others do: the arrows then begin
 * with ESC O. */
void key_for_application(char *bytes, size_t len);

/* Returns the character behind Control, as it was written, where `name` has the form
 * of such a key: C-x, CTRL+x, CTRL-x; else 0.  The key need not exist. */
char key_control(struct bytes name);

/* Returns true for the keys that the terminal turns into a signal: C-c, C-\, C-z. */
bool key_is_signal(const char *bytes, size_t len);
