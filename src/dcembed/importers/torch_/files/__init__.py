"""Files of torch, read without giving them to torch: .pt2 and the archives they are."""
