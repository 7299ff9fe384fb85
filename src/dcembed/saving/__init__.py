"""Problems and runs as files: arrays and text in one .npz archive, nothing pickled, written whole or not at all."""
