"""The commands about the record: sessions, questions that wait, standing answers, and the chain itself."""
