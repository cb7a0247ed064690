"""The Python API as a program, a script and a notebook use it."""
