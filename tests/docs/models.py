"""The scenes of docs/models.md: which models think with it, and what happens when one is out. The services are aimock's, on loopback."""

from base64 import b64decode

from tests.aimock import aimock

from .play import Page
from .stage import Stage

INTRODUCTION = """\
# Models

`--model PROVIDER:MODEL` chooses; `neuralclaw init` finds what is there and saves a choice. A service needs nothing but its key in the environment, or
in `.env` of the data home: `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GROQ_API_KEY`, `GOOGLE_API_KEY`, … (`.env.example` has them all). Any other service
needs its address, under `llm.providers`. What is known of a model (window, tools, pictures, price) comes from a table that ships with the program;
`llm.providers.NAME.models` says otherwise where it must.

Recorded from real runs by `tests/docs/models.py` against services on loopback (`@copilotkit/aimock`); CI plays every scene again.
"""

NOTES = "milk\nbread\nthe boiler man comes on Tuesday\n"
READ = {"id": "call_1", "name": "read_file", "arguments": {"path": "notes.txt"}}
TASK = "When does the boiler man come?"
FIXTURES = [
    {"match": {"userMessage": "boiler man", "hasToolResult": False}, "response": {"toolCalls": [READ]}},
    {"match": {"userMessage": "boiler man", "hasToolResult": True}, "response": {"content": "On Tuesday, says notes.txt."}},
    {"match": {"userMessage": "this picture"}, "response": {"content": "A single dot."}},
]
DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")


def _asks(stage: Stage, model: str, task: str = TASK) -> None:
    seen = stage.types(f'neuralclaw run --session {model.partition(":")[0]} --verbose --model {model} "{task}"')
    assert seen.out == "On Tuesday, says notes.txt.\n"


def every_wire(stage: Stage) -> None:
    """The same task through every wire format

    OpenAI's Responses, Anthropic's Messages, Ollama's own form, and Chat Completions for everything else. The same tools, the same record, the same
    prices in USD where they are known.
    """
    with aimock(FIXTURES) as url:
        stage.quietly(f"printf '{NOTES}' > notes.txt".replace("\n", "\\n"))
        stage.quietly(
            f"export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=sk-ant-of-nobody OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY=sk-of-nobody OLLAMA_HOST={url}"
        )
        stage.quietly(f"export GROQ_API_KEY=gsk-of-nobody NEURALCLAW_LLM__PROVIDERS__GROQ__BASE_URL={url}/v1 NEURALCLAW_LLM__PROVIDERS__OPENAI__API=responses")
        for model in ("openai:gpt-4o", "anthropic:claude-sonnet-5-5", "ollama:llama3.2", "groq:llama-3.3-70b-versatile"):
            _asks(stage, model)
        assert [e["name"] for e in stage.events("anthropic") if e["type"] == "tool.started"] == ["read_file"]


def no_native_tools(stage: Stage) -> None:
    """A model that cannot call tools

    It is told the tools in its prompt and calls them by writing JSON, which is mended where it is nearly JSON. `tools: false` says so; a service
    that refuses tools teaches it.
    """
    written = "I will look.\n```json\n{'tool': 'read_file', 'arguments': {'path': 'notes.txt',}}\n```"
    fixtures = [
        {"match": {"userMessage": "Result of read_file"}, "response": {"content": "On Tuesday, says notes.txt."}},
        {"match": {"userMessage": "boiler man"}, "response": {"content": written}},
    ]
    with aimock(fixtures) as url:
        stage.quietly(f"printf '{NOTES}' > notes.txt".replace("\n", "\\n"))
        settings = f"llm: {{providers: {{mine: {{base_url: {url}/v1, models: {{small: {{tools: false, context: 8192}}}}}}}}}}\\n"
        stage.quietly(f"printf '{settings}' > ~/.local/share/neuralclaw/config.yaml")
        stage.types("cat ~/.local/share/neuralclaw/config.yaml")
        _asks(stage, "mine:small")


def fallback(stage: Stage) -> None:
    """When a service is out

    `llm.fallback` names who is asked next. It is said when it happens, and the record names who answered.
    """
    with aimock(FIXTURES) as url:
        stage.quietly(f"printf '{NOTES}' > notes.txt".replace("\n", "\\n"))
        settings = "llm: {fallback: [anthropic:claude-sonnet-5-5], retry: {attempts: 1}}\\n"
        stage.quietly(f"export OPENAI_BASE_URL=http://127.0.0.1:9/v1 OPENAI_API_KEY=sk-of-nobody ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=sk-ant-of-nobody")
        stage.quietly(f"printf '{settings}' > ~/.local/share/neuralclaw/config.yaml")
        stage.types("cat ~/.local/share/neuralclaw/config.yaml")
        _asks(stage, "openai:gpt-4o")
        models = {e["model"] for e in stage.events("openai") if e["type"] == "message"}
        assert len(models) == 1
        assert "claude" in models.pop()


def withdrawn(stage: Stage) -> None:
    """A model that was withdrawn

    The service says no; the table that ships with the program knows the successor.
    """
    gone = {"error": {"message": "The model `mixtral-8x7b-32768` has been decommissioned", "code": "model_decommissioned", "type": "invalid_request_error"}}
    with aimock([{"match": {"userMessage": "boiler man"}, "response": {**gone, "status": 400}}]) as url:
        stage.quietly(f"export GROQ_API_KEY=gsk-of-nobody NEURALCLAW_LLM__PROVIDERS__GROQ__BASE_URL={url}/v1")
        stage.types(f'neuralclaw run --model groq:mixtral-8x7b-32768 "{TASK}"', code=1)


def pictures(stage: Stage) -> None:
    """Pictures

    `--image FILE` sends a picture with the task; in the chat `@dot.png` does. A model that takes none is told its name, and so are you.
    """
    (stage.project).mkdir(exist_ok=True)
    (stage.project / "dot.png").write_bytes(DOT)
    with aimock(FIXTURES) as url:
        stage.quietly(f"export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=sk-ant-of-nobody OLLAMA_HOST={url}")
        stage.types('neuralclaw run --model anthropic:claude-sonnet-5-5 --image dot.png "What is on this picture?"')
        stage.types('neuralclaw run --model ollama:llama3.2 --image dot.png "What is on this picture?"')


PAGE = Page("models.md", INTRODUCTION, every_wire, no_native_tools, fallback, withdrawn, pictures)
