"""What other rules would decide about the actions on record, and rules that would spare questions."""
