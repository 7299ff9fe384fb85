"""Files of Keras, read without running what is in them."""
