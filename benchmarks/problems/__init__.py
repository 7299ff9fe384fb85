"""The problems of the experiments: how an instance is built, where its data is, how its networks are trained."""
