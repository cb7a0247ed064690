"""Tools for models that have no tool calls of their own: told in the prompt, read out of the reply."""
