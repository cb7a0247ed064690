"""The conversation of `neuralclaw init`: what was found, which service, its key, the model, and what to do when the call fails."""

import re
from textwrap import wrap

import anyio
import msgspec

from ..app.setup.discovery import SetupFindings, local_engine
from ..app.setup.model_download import DEFAULT_URL, FetchedFile, fetch
from ..app.setup.procedure import LOCAL, OFFLINE, FirstCall, Setup, SetupChoice, missing_for
from ..errors import ConfigError, NeuralClawError
from ..types.suggestions import did_you_mean
from .line_prompts import InputEnded, LinePrompts

SHOWN = 12
"""Model names that are listed at once."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class Interview:
    """One conversation. It changes nothing; `fetched` is the model file that the person had fetched in it."""

    def __init__(self, setup: Setup, prompts: LinePrompts, *, check: bool) -> None:
        self._setup, self._prompts, self._check = setup, prompts, check
        self._key_refused = ""
        self.fetched: FetchedFile | None = None

    def run(self) -> tuple[SetupChoice, list[FirstCall]]:
        """The choice, and the calls that showed that it works (none where the person saves without)."""
        found = anyio.run(self._setup.find)
        services = self._show(found)
        proposed = self.proposal(found)
        while True:
            try:
                choice = self._setup.complete(self._rest(self._service(services, proposed), found))
            except NeuralClawError as error:
                self._trouble(error)
                continue
            if not self._check:
                return choice, []
            failed, calls = self._try(choice)
            if failed is None:
                return choice, calls
            self._trouble(failed)
            proposed = choice.service
            answer = self._prompts.ask("That did not work. Enter: choose again; s: save all the same; q: leave").lower()
            if answer.startswith("q"):
                raise InputEnded
            if answer.startswith("s"):
                return choice, []

    def _trouble(self, error: NeuralClawError) -> None:
        self._prompts.tell(error.text, "red")
        if error.hint:
            self._prompts.tell(f"   {error.hint}", "dim")

    def proposal(self, found: SetupFindings, *, unasked: bool = False) -> str:
        """The best of what is there: what is configured, a service with a key, Ollama, a model file, else no language model.

        `unasked`: nobody sees the proposal before it is taken, so a configured `offline` gives way to any language model.
        """
        configured = self._setup.loaded.settings.llm.default_provider
        if configured and not (unasked and configured == OFFLINE):
            return configured
        if found.keys:
            return found.keys[0].service
        if found.ollama_models:
            return "ollama"
        return LOCAL if found.files and local_engine() else OFFLINE

    def _show(self, found: SetupFindings) -> list[str]:
        """Tell what was found; the services in the order of their numbers."""
        say = self._prompts.tell
        rows = [(key.service, f"key in {key.variable} ({key.origin})" if key.variable else f"configured ({key.origin})") for key in found.keys]
        if found.ollama:
            rows.append(("ollama", f"runs at {found.ollama}: {listed(found.ollama_models) or 'no model pulled yet (ollama pull llama3.2)'}"))
        if found.files:
            lacks = f"; needs: {missing_for(LOCAL)}" if missing_for(LOCAL) else ""
            rows.append((LOCAL, f"a model in this process: {listed(tuple(file.path for file in found.files), 3)}{lacks}"))
        rows.append((OFFLINE, "no language model: a small grammar of commands, needs nothing"))
        width = max(len(name) for name, _ in rows)
        say("Which model should NeuralClaw use? Found here:", "bold")
        for number, (name, text) in enumerate(rows, 1):
            say(f"  {number}  {name:{width}}  {text}")
        others = [name for name in self._setup.services() if name not in dict(rows)]
        for line in wrap(f"Others by name: {', '.join(others)}.", 78):
            say(line)
        say("Also: provider:model, the path of a GGUF file, the address of your own server,")
        say("or fetch (downloads a small model, 145 MB, from huggingface.co: it answers, but is weak with tools).")
        return [name for name, _ in rows]

    def _service(self, services: list[str], proposed: str) -> SetupChoice:
        """Ask until the answer names a service."""
        while True:
            answer = self._prompts.ask("Service", proposed)
            if answer.isdigit() and 1 <= int(answer) <= len(services):
                answer = services[int(answer) - 1]
            if answer == "fetch":
                return self._fetch()
            if answer.startswith(("http://", "https://")):
                return self._own(answer)
            if "/" in answer.partition(":")[0] or answer.lower().endswith(".gguf"):
                answer = f"{LOCAL}:{answer.removeprefix(f'{LOCAL}:')}"
            choice = choice_of(answer)
            if choice.service in (*self._setup.services(), LOCAL):
                return choice
            self._prompts.tell(f"There is no service {choice.service!r}{did_you_mean(choice.service, self._setup.services()) or '.'}", "yellow")

    def _fetch(self) -> SetupChoice:
        self._prompts.tell(f"fetching {DEFAULT_URL}")
        self.fetched = anyio.run(fetch, self._setup.gate, DEFAULT_URL, self._setup.loaded.home, self._prompts.tell)
        self._prompts.tell(f"fetched: {self.fetched.path}, SHA-256 {self.fetched.sha256}")
        return SetupChoice(service=LOCAL, model=self.fetched.path)

    def _own(self, url: str) -> SetupChoice:
        while True:
            name = self._prompts.ask("A name for it", "own").lower()
            if _NAME.fullmatch(name) and name not in (*self._setup.services(), LOCAL, "direct", "given"):
                return SetupChoice(service=name, base_url=url)
            self._prompts.tell("A name of small letters and digits that no other service has, please.", "yellow")

    def _rest(self, choice: SetupChoice, found: SetupFindings) -> SetupChoice:
        """Key, model and fallback of the service."""
        if choice.service == OFFLINE:
            return choice
        choice = self._key(choice)
        if not choice.model:
            choice = msgspec.structs.replace(choice, model=self._model(choice, found))
        now = ",".join(self._setup.loaded.settings.llm.fallback)
        answer = self._prompts.ask(
            "A model for when this one is unavailable, as provider:model (Enter: none)"
            if not now
            else "Models for when this one is unavailable (none: no other)",
            now,
        )
        names = tuple(name for name in answer.replace(",", " ").split() if name != "none")
        return msgspec.structs.replace(choice, fallback=names)

    def _key(self, choice: SetupChoice) -> SetupChoice:
        name = self._setup.key_variable(choice.service)
        if not name or not (choice.base_url or self._setup.needs_key(choice.service) or self._key_refused == choice.service):
            return choice
        optional = "; Enter: none" if choice.base_url else "; Enter: keep the one there is" if not self._setup.needs_key(choice.service) else ""
        return msgspec.structs.replace(choice, key=self._prompts.secret(f"Key for {choice.service} ({name}; what you type is not shown{optional}): "))

    def _model(self, choice: SetupChoice, found: SetupFindings) -> str:
        """Ask for the model; `?` lists what the service offers, a number takes from the list."""
        names = found.ollama_models if choice.service == "ollama" else tuple(file.path for file in found.files) if choice.service == LOCAL else ()
        default = self._setup.default_model(choice.service, found)
        if choice.base_url:
            names = self._offered(choice)
            default = names[0] if names else ""
        self._list(names if len(names) > 1 else ())
        while True:
            answer = self._prompts.ask(f"Model of {choice.service} (? lists them)", default)
            if answer == "?":
                names = names or self._offered(choice)
                self._list(names)
            elif answer.isdigit() and 1 <= int(answer) <= len(names):
                return names[int(answer) - 1]
            elif answer:
                return answer

    def _offered(self, choice: SetupChoice) -> tuple[str, ...]:
        found = anyio.run(self._setup.list_models, choice)
        if found is None or not found.models:
            self._prompts.tell(found.text if found else "There is no list.", "yellow")
            return ()
        return found.models

    def _list(self, names: tuple[str, ...]) -> None:
        for number, name in enumerate(names, 1):
            self._prompts.tell(f"  {number}  {name}")

    def _try(self, choice: SetupChoice) -> tuple[NeuralClawError | None, list[FirstCall]]:
        """The real calls, and the failure if there was one."""
        if missing := missing_for(choice.service):
            return ConfigError("no library that runs a model in this process is installed", hint=missing), []
        calls = anyio.run(self._setup.call, choice, self._prompts.tell)
        error = calls[-1].error()
        self._key_refused = choice.service if error is not None and error.kind == "LLMAuthError" else ""
        return error, calls


def choice_of(model: str) -> SetupChoice:
    """`P:M` or `P` as a choice."""
    service, _, name = model.partition(":")
    return SetupChoice(service=service.strip(), model=name.strip())


def listed(names: tuple[str, ...], shown: int = SHOWN) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
