"""Language models: one file per wire format, and wrappers around any of them."""
