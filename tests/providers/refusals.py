"""How real services refuse a request for the model `m`: who, status, body, and the error that it must become."""

REFUSALS: list[tuple[str, int, object, str]] = [
    (
        "llama.cpp",
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_ctx": 4096,
            }
        },
        "LLMContextLengthError",
    ),
    (
        "vLLM",
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            "type": "BadRequestError",
            "code": 400,
        },
        "LLMContextLengthError",
    ),
    (
        "Groq",
        413,
        {"error": {"message": "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000", "code": "rate_limit_exceeded"}},
        "LLMContextLengthError",
    ),
    (
        "Groq",
        400,
        {"error": {"message": "Please reduce the length of the messages or completion.", "code": "context_length_exceeded"}},
        "LLMContextLengthError",
    ),
    (
        "OpenRouter",
        400,
        {"error": {"message": "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens", "code": 400}},
        "LLMContextLengthError",
    ),
    (
        "Google",
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        "LLMContextLengthError",
    ),
    (
        "Mistral",
        400,
        {"object": "error", "message": "Prompt contains 9000 tokens, too large for model with 8192 maximum context length", "code": "3051"},
        "LLMContextLengthError",
    ),
    (
        "OpenAI",
        429,
        {"error": {"message": "Request too large for gpt-4o: Limit 30000, Requested 50000.", "code": "rate_limit_exceeded"}},
        "LLMContextLengthError",
    ),
    ("nginx", 413, "<html>413 Request Entity Too Large</html>", "LLMContextLengthError"),
    ("OpenRouter", 400, {"error": {"message": "m is not a valid model ID", "code": 400}}, "LLMModelError"),
    ("OpenRouter", 404, {"error": {"message": "No endpoints found for m.", "code": 404}}, "LLMModelError"),
    ("DeepSeek", 400, {"error": {"message": "Model Not Exist", "type": "invalid_request_error", "code": "invalid_request_error"}}, "LLMModelError"),
    ("Mistral", 400, {"object": "error", "message": "Invalid model: m", "type": "invalid_model", "code": "1500"}, "LLMModelError"),
    ("vLLM", 404, {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404}, "LLMModelError"),
    ("Ollama", 404, {"error": {"message": 'model "m" not found, try pulling it first', "type": "api_error"}}, "LLMModelError"),
    (
        "NVIDIA",
        410,
        {
            "type": "about:blank",
            "title": "Gone",
            "status": 410,
            "detail": "The model 'm' has reached its end of life on 2026-05-14T00:00:00Z and is no longer available.",
        },
        "LLMModelError",
    ),
    ("Groq", 400, {"error": {"message": "The model `m` has been decommissioned, use n", "code": "model_decommissioned"}}, "LLMModelError"),
    ("OpenAI", 403, {"error": {"message": "Project `p` does not have access to model `m`", "code": "model_not_found"}}, "LLMModelError"),
    ("Google", 400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}}], "LLMAuthError"),
    ("xAI", 400, {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xx"}, "LLMAuthError"),
    ("OpenRouter", 401, {"error": {"message": "No auth credentials found", "code": 401}}, "LLMAuthError"),
    ("a proxy", 403, "<html>Forbidden</html>", "LLMAuthError"),
    ("FastAPI", 404, {"detail": "Not Found"}, "LLMError"),
    ("OpenRouter", 402, {"error": {"message": "Insufficient credits", "code": 402}}, "LLMError"),
    ("FastAPI", 422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, "LLMError"),
]

LACKING: list[tuple[str, int, object, str]] = [
    (
        "vLLM",
        400,
        {"object": "error", "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "code": 400},
        "tools",
    ),
    ("llama.cpp", 500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}, "tools"),
    ("OpenRouter", 404, {"error": {"message": 'No endpoints found that support tool use. Try disabling "t".', "code": 404}}, "tools"),
    ("Ollama", 400, {"error": {"message": "registry.ollama.ai/library/m:latest does not support tools", "type": "api_error"}}, "tools"),
    ("Groq", 400, {"error": {"message": "`tool calling` is not supported with this model", "type": "invalid_request_error"}}, "tools"),
    ("Together", 422, {"error": {"message": "Function calling is not supported for this model", "type": "invalid_request_error"}}, "tools"),
    ("Google", 400, [{"error": {"code": 400, "message": "Function calling is not enabled for models/m", "status": "INVALID_ARGUMENT"}}], "tools"),
    ("OpenRouter", 404, {"error": {"message": "No endpoints found that support image input", "code": 404}}, "images"),
    (
        "llama.cpp",
        500,
        {"error": {"code": 500, "message": "image input is not supported - hint: you may need to provide the mmproj", "type": "server_error"}},
        "images",
    ),
    ("vLLM", 400, {"object": "error", "message": "m is not a multimodal model", "type": "BadRequestError", "code": 400}, "images"),
    (
        "OpenAI",
        400,
        {"error": {"message": "Invalid content type. image_url is only supported by certain models.", "param": "messages.[0].content", "code": None}},
        "images",
    ),
]
"""How services say that the model `m` lacks something."""
