"""Trains the bundled models from a folder of plain text: `python -m models.training`.

One noun per module, in the order of the stages:

`sizes`       shape and training recipe of each model of a given size
`tokenizer`   the byte-level BPE that all bundled models share
`corpus`      documents, the overlap check, token files and training windows
`network`     the network, written for training speed, with the parameter names of Qwen3
`objectives`  the prediction targets: the next token, or the tokens under a mask
`optimizer`   Muon for matrices, Adam for the embedding and the norms
`train`       the loop, with checkpoints that resume
`export`      the folder that `transformers` loads
`curves`      the picture of the training logs
`evaluation`  bits per byte, facts, samples, acceptance and more, of the exported folders
"""
