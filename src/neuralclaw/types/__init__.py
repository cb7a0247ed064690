"""Plain values: frozen msgspec structs that every room shares. Nothing here does I/O."""
