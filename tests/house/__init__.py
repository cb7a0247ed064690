"""What the source itself has to keep to: sizes, arrows between rooms, and rules that no linter knows."""
