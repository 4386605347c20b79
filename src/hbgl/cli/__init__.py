"""The command line, one thin file per command; ``main`` puts them together."""
