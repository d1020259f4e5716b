"""Below everything else: errors of the user, files that are read and written, printable text,
folders for the time of a command, and how Graphloom is installed."""
