"""Size of a cache in bytes: what each layer keeps, and how much memory that takes.

One calculation serves the figure under the step page's chart, the calculator of the cache page and
the tests, which compare it with real caches' tensors. It needs neither PyTorch nor a model.
`engine.model.cache_layers.formula_of` makes a formula from a model's configuration.

    formula     CacheFormula: bytes of all layers; Storage: bits of a value; formulas as text
    kept        Layer, what it keeps (keys, a latent, a state, ...), and for which positions
    layouts     how much memory is set aside: only what is read, tensors, whole blocks
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "formula": "CacheFormula Storage in_numbers in_symbols",
        "kept": "ALL ONCE Kept Last Layer Number Once OneIn RestOf Span keys_and_values numbers",
        "layouts": "IDEAL TENSORS Layout Paged",
    },
)
