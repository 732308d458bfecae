/* nothing -- the command of every row: a static program that exits with 0, so
 * that the time is that of the tool around it. */
int main(void)
{
	return 0;
}
