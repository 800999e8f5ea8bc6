"""Effect of quantised caches on the distribution: one text read with them and the exact cache.

All caches read the same tokens, one at a time, in the rows of one batch (see
`engine.model.quantised`). At every position their distributions are compared over the whole
vocabulary. If the model writes the text itself, the exact cache chooses each token. Each other
cache then records its own choice, with the same settings and the same random number. Until
the first difference, a cache has read exactly the text that it would have written. So the position
where free-running texts would diverge is exact as well.

The effect of float rounding alone is measured too: separate passes also read the exact cache, in
which the model sums in a different order.

    measurement.py     the measurement: one text, the chosen settings, then others
    reading.py         the text read by one batch
    result.py          results as plain values
"""
