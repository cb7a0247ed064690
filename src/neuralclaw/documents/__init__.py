"""The capability `documents`: Word documents and PDFs as text."""
