"""The search over starts: which come, how long each is given, and when it is enough."""
