"""Functions of keras.ops, one handler each."""
