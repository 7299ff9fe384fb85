"""The packages that users have today, behind the same call as every other method. Building a model is not counted as time."""
