"""One role a file; the function has the name of the file."""
