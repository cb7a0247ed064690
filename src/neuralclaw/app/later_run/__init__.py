"""Places that code is later run from: what commands change there is put back, on record, and asked about."""
