"""Memory and time that a model needs, computed from its configuration; nothing is loaded.

    sources     sources of a configuration: a name, a folder, the hub's cache, a pasted text
    shapes      well-known models, as fields of config.json
    weights     parameters, counted on a model built without data; all figures by `estimate`
    storages    storage types of weights and caches
    cards       accelerators with published memory and bandwidth
    fit         what fits on a card, and how fast it can be at most
    published   published sizes, for comparison
    cited       citations of published figures, in words

The bytes of a cache are those of `engine.model.cache_layers`, which the step page shows too.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "cards": "Card known_cards",
        "cited": "citation",
        "fit": "Fit",
        "published": "published_sizes",
        "shapes": "known_shapes",
        "sources": "Described",
        "storages": "AS_DECLARED CACHE_STORAGES WEIGHT_STORAGES",
        "weights": "HALF Estimate estimate",
    },
)
