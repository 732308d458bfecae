import unittest

from dates import days_of, is_leap


class Dates(unittest.TestCase):
    def test_every_fourth_year_is_a_leap_year(self):
        self.assertTrue(is_leap(2024))
        self.assertFalse(is_leap(2023))

    def test_a_century_is_none_but_every_fourth(self):
        self.assertFalse(is_leap(1900))
        self.assertTrue(is_leap(2000))

    def test_months(self):
        self.assertEqual(sum(days_of(2023, month) for month in range(1, 13)), 365)


if __name__ == "__main__":
    unittest.main()
