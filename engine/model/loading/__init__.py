"""The steps from a name to a model, taken by `engine.model.load`.

checkpoint         where a model is, and how it is read step by step
files              files of a folder: regular, of bounded size
configuration      config.json, compared with the weight files
weights            weight files: which ones count, what they hold, how they get into a model
tokenizer_files    the tokenizer of a folder
memory             free memory of a device
"""
