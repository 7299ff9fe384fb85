"""Layers of Keras, one handler each."""
