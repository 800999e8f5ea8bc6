"""Trains the bundled target model from a folder of plain text: `python -m models.training`.

One noun per module, in the order of the stages:

`sizes`      what a model of a given name looks like and how it is trained
`tokenizer`  the byte-level BPE all bundled models share
`corpus`     documents, the overlap check, token files and training windows
`network`    the decoder, written for training speed, with the parameter names of Qwen3
`optimizer`  Muon for matrices, Adam for the embedding and the norms
`train`      the loop, with checkpoints that resume
`export`     the folder that `transformers` loads
`evaluate`   bits per byte, facts and samples of the exported folder
"""
