"""Labels of files: a table that is derived from the record, and the facts that read it."""
