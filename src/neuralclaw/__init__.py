"""NeuralClaw: a personal agent that people dare to leave running."""
