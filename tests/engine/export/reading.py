"""Snippets parsed into values."""

import ast
import json
import re
import shlex

from engine.export import snippets
from engine.sampling import SamplingSettings


def written(chain, prompt="Hello", **more):
    """Target -> snippet."""
    chosen = chain if isinstance(chain, SamplingSettings) else SamplingSettings(chain=chain)
    given_ = {"model": "gpt2", "max_tokens": 32} | more
    return {snippet.target: snippet for snippet in snippets(chosen, prompt, **given_)}


def literal(node: ast.expr) -> object:
    """Value of an expression that `python_literal` wrote."""
    if isinstance(node, ast.Call) and node.func.id == "float":
        return float(node.args[0].value)
    if isinstance(node, ast.Dict):
        return {literal(k): literal(v) for k, v in zip(node.keys, node.values, strict=True)}
    return ast.literal_eval(node)


CALLS = {"transformers": "generate", "vLLM": "SamplingParams"}


def parameters(snippet) -> dict[str, object]:
    """All parameters of a snippet under the target's own names, including the prompt."""
    if snippet.language == "python":
        tree = ast.parse(snippet.code)
        calls = {ast.unparse(n.func).split(".")[-1]: n for n in ast.walk(tree) if is_call(n)}
        call = calls[CALLS.get(snippet.target, "create")]
        found = {
            keyword.arg: literal(keyword.value)
            for keyword in call.keywords
            if keyword.arg != "attention_mask" and not isinstance(keyword.value, ast.Name)
        }
        made = next(
            ({k.arg: literal(k.value) for k in n.value.keywords} for n in tree.body if is_made(n)),
            None,
        )
        if made is not None:  # vLLM's class of constraints
            found["structured_outputs"] = made
        return found | found.pop("extra_body", {})
    arguments = shell_words(snippet.code)
    if arguments[0] == "curl":
        body = json.loads(arguments[arguments.index("-d") + 1])
        return body | body.pop("options", {})
    found = {}
    for i, argument in enumerate(arguments[1:], 1):
        if argument.startswith("--") and arguments[i - 1] not in ("--prompt", "--reverse-prompt"):
            follows = arguments[i + 1] if i + 1 < len(arguments) else ""
            flag = argument in ("--escape", "--no-conversation")
            found.setdefault(argument, []).append(None if flag else follows)
    return found


def shell_words(code: str) -> list[str]:
    """The words of a command, without the line ends that shlex takes for words."""
    return [word for word in shlex.split(code) if word != "\n"]


def is_made(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node).startswith("constraint = ")


def is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call)


def unescaped(text: str) -> str:
    """Decode llama.cpp's escapes byte by byte (`string_process_escapes`)."""
    plain = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"'": b"'", b'"': b'"', b"\\": b"\\"}

    def one(match: re.Match) -> bytes:
        found = match[1]
        return plain.get(found) or bytes([int(found[1:], 16)])

    data = re.sub(rb"\\(x[0-9a-f]{2}|[nrt'\"\\])", one, text.encode("utf-8", "surrogatepass"))
    return data.decode("utf-8", "surrogatepass")


def prompt_of(snippet) -> object:
    """The prompt as the target would receive it: text, token ids or messages."""
    if snippet.target in ("transformers", "vLLM"):
        tree = ast.parse(snippet.code)
        names = ("tokenizer", "torch.tensor", "llm.generate")
        calls = [n for n in ast.walk(tree) if is_call(n) and ast.unparse(n.func) in names]
        value = ast.literal_eval(calls[0].args[0])
        return value if isinstance(value, str) else value[0]
    found = parameters(snippet)
    if "--prompt" in found:
        return unescaped(found["--prompt"][0])
    return found.get("messages") or found["prompt"]


def skeleton(snippet) -> object:
    """The snippet's structure without its texts, which a prompt must not change."""
    if snippet.language == "python":
        return re.sub(r"Constant\(value=(['\"]).*?\1\)", "TEXT", ast.dump(ast.parse(snippet.code)))
    arguments = shell_words(snippet.code)
    if arguments[0] == "curl":
        body = json.loads(arguments[-1])
        return arguments[:-1], sorted(body), sorted(body.get("options", {}))
    texts = [i + 1 for i, a in enumerate(arguments) if a in ("--prompt", "--reverse-prompt")]
    return [None if i in texts else a for i, a in enumerate(arguments)]
