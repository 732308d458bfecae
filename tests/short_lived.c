/* Linked into the sanitized hutch: a program that ends with its command keeps what it has
 * until then, and to look for leaks takes as long as all else it does.  Those that live
 * longer are looked through when they end, and so is each unit test. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}
