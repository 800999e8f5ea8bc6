"""Effect of a quantised cache on the distribution: one text read with the exact cache and others.

All caches read the same tokens, one at a time, in the rows of one batch (see
`engine.model.quantised`). At every position their distributions are compared over the whole
vocabulary. Where the model writes the text itself, the exact cache chooses each token. Each other
cache then says what it would have chosen from the same logits settings and the same random number.
Until the first difference it has read what it would have written. So the place where free-running
texts part is exact as well.

How much float rounding alone changes is measured beside it: the exact cache is also read in passes
of its own, in which the model adds in another order.

    measurement.py     the measurement: one text, the chosen settings, then others
    reading.py         the text as it is read by one batch
    result.py          results as plain values
"""
