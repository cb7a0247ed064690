"""The pages for people: every command they show is run, every output compared, every name looked up."""
