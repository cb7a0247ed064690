"""A recorded session, run again: the loop decides anew, and models, tools and persons are served from the record."""
