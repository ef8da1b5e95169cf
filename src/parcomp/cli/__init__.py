"""The command ``parcomp``: commands read files, call the library and print; they hold no logic of their own."""

from parcomp.cli.app import main

__all__ = ["main"]
