"""How long months and years are."""

MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    return year % 4 == 0


def days_of(year, month):
    return 29 if month == 2 and is_leap(year) else MONTHS[month - 1]
