"""The columns of the built-in tables, by name: nothing relies on the order in which a file has them."""

COLUMNS = {
    "sessions": "session, origin, workspace, title, model, parent, soul, created, front",
    "entries": "record, session, entry, turn, kind, version, time, labels, digest, hash",
    "bodies": "record, key, data",
    "state_changes": "record, data",
    "results": "session, call_id, record, key, digest, data",
    "blobs": "digest, data",
    "progress": "session, entries, last_turn, turns, started, open_turn, steering, waiting, labels, first_text, model, updated, usd, unpriced, by_schema",
    "inbox": "session, entry, turn, queued",
    "turns": "session, turn, started, finished, status, inbound",
    "questions": "id, session, turn, record, answer",
    "calls": "session, call_id, record",
    "scopes": "record, place, session, decision, kind, value, tool",
    "usage": "record, session, turn, time, model, input, cached, output, usd",
    "blob_refs": "digest, record",
    "leases": "name, holder, epoch, turn, starts",
    "inbound_keys": "key, session, entry",
    "outbox": "session, record, channel, address, text",
    "records": "space, key, value, version, updated",
    "reservations": "id, session, root_session, root_turn, time, usd, tokens, state",
}
"""The order in which a row of each table is added."""
TABLES = frozenset({*COLUMNS, "meta", "derived_tables"})
"""All tables of the program itself."""
USAGE, LEASES, QUESTIONS, RECORDS = (COLUMNS[name] for name in ("usage", "leases", "questions", "records"))
PROGRESS = COLUMNS["progress"].removesuffix(", by_schema")
"""What a session's row says; the last column says who wrote it."""

READABLE = COLUMNS | {
    "progress": PROGRESS,
    "sessions": f"{COLUMNS['sessions']}, aside",
    "outbox": "id, session, record, channel, address, text, state, attempts, next_try, error, tried",
}
"""The columns of each table that `rows` reads."""
STATE_TABLES = {
    "sessions": ("session",),
    "leases": ("name",),
    "records": ("space", "key"),
    "outbox": ("id",),
    "results": ("session", "call_id"),
    "blobs": ("digest",),
    "reservations": ("id",),
}
"""The tables beside the derived ones that `rows` reads, with their keys."""
BULKY = frozenset({"results", "blobs"})
"""Tables whose rows may be large: they are read in a worker thread."""

BUILT_IN_TABLES = {
    "progress": ("session",),
    "inbox": ("session", "entry"),
    "turns": ("session", "turn"),
    "questions": ("id",),
    "scopes": ("record", "place"),
    "usage": ("record",),
    "calls": ("session", "call_id"),
    "blob_refs": ("digest", "record"),
}
"""The built-in derived tables with their keys; they are derived from the built-in kinds by `projections.project`, all together."""
