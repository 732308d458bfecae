/* Linked into the sanitized hutch: a program that ends with its command keeps
 * its memory until then, and a search for leaks would take as long as all its
 * other work.  Programs that live longer are searched when they end, and so is
 * each unit test. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}
