"""What always holds, each with an id. A test that proves one says so: `@pytest.mark.invariant("gate.one-call")`.

`tests/test_invariants.py` holds the map both ways: every id that stands has a test, every marker names an id that stands.
"""

STANDING = {
    "gate.grant-needed": "No sandbox execution, file write or network request by a tool without a grant.",
    "gate.one-call": "A grant fits one call, by hash.",
    "gate.as-judged": "What runs is what was judged.",
    "gate.crash-refuses": "A rule that crashes refuses.",
    "gate.unknown-refuses": "A call without a known tool spec is refused.",
    "gate.nobody-refuses": "A missing approver refuses.",
    "gate.expired-refuses": "An expired approval refuses.",
    "gate.bounded": "No analysis that stopped at a bound is allowed.",
    "gate.held": "A yes is one to the program, the code, the targets and the directory that were there when it was asked for.",
    "gate.folded": "What a person said counts as the entries say that are as they were written, whatever a table says.",
    "gate.low-earned": "A command line is LOW only where all of it was walked and each option is on its program's list of reading options.",
    "gate.spelling": "Another spelling of a command line gets no wider answer than the plain one.",
    "gate.unconfined-asks": "Without a sandbox only one reading program, without a shell, runs unasked.",
    "gate.counted": "A counted grant lets no more calls run than it says, over all processes and crashes.",
    "gate.covers": "A standing answer allows what its words say and nothing wider, and an `always` only in its workspace.",
    "gate.outside-asks": "What a call touches outside the workspace, allowed paths and public places is asked about, and a yes opens that alone.",
    "gate.self-kept": "No call touches the agent's own data, changes its program or uses its command line, whatever the workspace.",
    "gate.simulated": "A simulation of rules (`policy simulate`, `policy suggest`) changes nothing, and counts only entries that are as they were written.",
    "hooks.narrow": "A hook blocks or refuses, and allows nothing that the gate asks about or forbids.",
    "hooks.recorded": "A recorded run of a hook counts only as written, for the same program, arguments and input; a result that no hook read is kept back.",
    "hooks.pinned": "Of a hook only the bytes run that the owner pinned, and no call changes them.",
    "journal.started-first": "An effect's `started` is durable before it runs.",
    "journal.finished-once": "A finished effect never runs twice.",
    "journal.unfinished-asked": "An unfinished `once` is asked about.",
    "journal.labels-kept": "What came from outside marks every later entry of its session but the owner's own words.",
    "journal.inbound-once": "A message accepted once is handled once.",
    "journal.one-result": "Every tool call has exactly one result, in the order of the calls, also after cancel and crash.",
    "audit.tampering-found": "Any change, unrecorded removal, insertion or reordering of the record is found by `audit verify`.",
    "audit.cut-found": "A cut of the record's end is found, by its anchor.",
    "audit.erasure-shown": "A recorded erasure is shown as such.",
    "secrets.tool-environment": "No configured secret stands in the environment of a tool.",
    "secrets.nowhere": "No configured secret in a prompt, log, event or journal, also when it is split over deltas.",
    "later_run.put-back": "What a command changes unasked in a known place that code is later run from is put back, also after a cancel or a kill.",
    "undo.nothing-lost": "Undo and redo overwrite no later edit, and remove nothing that they cannot bring back.",
    "claims.marked": "An answer that says something was done which no finished call of its turn backs is marked in its end.",
    "flow.no-widening": "Content of external origin never widens what is allowed without the user's word.",
    "flow.labels-join": "Labels join, never drop, also through files.",
    "flow.private-kinds": "A value of a private kind leaves in no text that the owner did not type it for, and in no address, unasked.",
    "flow.links-of-others": "After private data was read, an address that the model composed is not fetched unasked.",
    "flow.values-ask": "A value that reading mode took from outside is sent, and decides where something is sent, only with the owner's word.",
    "sessions.one-turn": "One turn at a time per session.",
    "sessions.no-delay": "A slow session or subscriber never delays another.",
}

# What is not available yet: the sentence, and the work it comes with.
LATER = {
    "budget.never-passed": ("The sum of settled and reserved cost never passes a cap, over all processes of a home.", "budgets"),
    "budget.no-price-refused": ("With a cap and no known price the model is refused.", "budgets"),
}
