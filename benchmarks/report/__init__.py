"""Records summed up, drawn and written as one page."""
