"""The set-up behind `neuralclaw init`."""
