NAME = "wild"
