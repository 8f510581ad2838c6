"""The command line: commands, what they print, and how far they are."""
