"""The steps that load a model by its name, for `engine.model.load`.

checkpoint         find a checkpoint, and read it step by step
files              read a folder's files: regular, of bounded size
gguf               a GGUF file's converted copy; `convert_gguf` makes it, in its own process
offered            models fetched by name, which `offered.toml` lists
data_folder        the folder for both
configuration      read config.json, and compare it with the weight files
weights            find weight files, read their headers, load them into a model
tokenizer_files    read the tokenizer of a folder
memory             measure and free memory of a device
"""
