"""The configuration of INTERFACE.md as it stands there: every section of it must be accepted."""

SAMPLE = """\
agent:    {name: NeuralClaw, max_iterations_per_turn: 10, max_turn_timeout_seconds: 300, max_repeated_calls: 2, max_consecutive_errors: 3,
           max_conversation_messages: 0, max_tool_result_chars: 40000, max_sessions: 1000, mode: auto, evaluation_threshold: 80, max_retries: 2,
           reflection: deliberate, personality: null, default_trust_level: low}
context:  {system_prompt: 2000, tool_schemas: 3000, long_term_mem: 5000, conversation: 10000, tool_results: 5000, current_msg: 2000, response: 4096}
llm:
  default_provider: openai        # a comment
  temperature: 0.7
  max_tokens: 4096
  top_p: 1.0
  timeout_seconds: 120
  retry: {attempts: 3, min_seconds: 2, max_seconds: 30}
  providers:
    ollama: {base_url: "http://localhost:11434"}
    groq: {}
    mine: {api: chat, base_url: "http://127.0.0.1:8000/v1", api_key: "${MINE_API_KEY:-}",
           models: {big: {context: 131072, tools: true, images: false, price: {input: 0.5, cached: 0.05, output: 1.5}}}}
memory:   {embedding_model: all-MiniLM-L6-v2, max_short_term_turns: 20, relevance_threshold: 0.85, results: 5,
           compaction: {entries: 50, summarise: 20, tokens: 100000}}
tools:
  browser:    {headless: true, user_agent: "Mozilla/5.0 (compatible; NeuralClaw/1.0)", timeout_ms: 15000}
  terminal:   {working_dir: null, default_timeout_seconds: 30,
               shell: parsed,
               sandbox: auto,
               docker_image: "neuralclaw-runner:latest", container: {cpus: 1, memory_mb: 512, pids: 128, tmpfs_mb: 64, workspace: rw}, max_output_chars: 20000}
  filesystem: {allowed_paths: []}
safety:   {default_permission_level: read, require_confirmation_for: [HIGH, CRITICAL], terminal_whitelist_extra: [], unlisted_commands: ask, rules: []}
budget:   {turn_usd: null, session_usd: null, day_usd: null, turn_tokens: null}
mcp:      {servers: {blender: {transport: stdio, command: uvx, args: [blender-mcp], enabled: false}}}
telegram: {bot_token: "${TELEGRAM_BOT_TOKEN}", authorized_user_ids: ["${TELEGRAM_USER_ID}"]}
scheduler: {timezone: UTC, max_concurrent_tasks: 3}
logging:  {level: INFO, log_dir: null, max_file_size_mb: 100, backup_count: 5}
prompts:  {use_overrides: false}
approvals: {expire_days: 7}
"""
