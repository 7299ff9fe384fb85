"""Column generation for problems that fall into blocks."""
