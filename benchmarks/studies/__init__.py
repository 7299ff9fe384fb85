"""Questions about one part of dcembed, each answered by a module that is run by itself."""
