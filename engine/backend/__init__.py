"""The interface to a model, wherever it runs, and models on servers.

base           `Backend`, `Sequence`, `Reading`: what decoders need of a model
capabilities   what a model can do, and checks of that
connection     `connect`: from an address to a model
server_model   `ServerModel`: a model on a server, whatever its API
server_sequence, server_vocabulary   its texts and its tokens
dialect        what the API of a server must provide
own_sampling   what a server draws itself; optional in a dialect
requests       requests for scores to a server
slots          the requests that a server gets at once
metrics        the load of a server, and counters of its speculation; optional, too
llama_cpp      the API of llama.cpp's server
openai         OpenAI's API, as many servers have it
vllm           what the API of vLLM's server adds to that
client         HTTP requests, with limits and sentences
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "base": "Backend Reading Sequence",
        "client": "SESSION_HEADER",
        "connection": "LISTED connect",
        "metrics": "ServerLoad",
        "server_model": "ServerModel",
        "capabilities": "CAPABILITIES fitted limits require",
    },
)
