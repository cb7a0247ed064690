"""`echo`: gives the text back."""

from ..tool import tool


@tool(risk="LOW", effect="pure", category="utility", instant=True)
def echo(text: str) -> str:
    """Give the text back unchanged. Only to try out whether tools work; to say something, answer without a tool.

    Example: {"text": "hello"}

    Args:
        text: What is given back.
    """
    return text
