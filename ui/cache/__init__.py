"""The cache page: savings and costs of a KV cache, section by section (see `ui.measurements`).

    page.py         the properties of this page, and its sections in order

To add a section:

    engine/measure/<name>.py     a `Measurement` and its result, a dataclass that a file can keep
    ui/cache/<name>.py           `SECTION`, a `Section`: fields, picture, notice, tables, charts;
                                 a long one is a folder, with `section.py` and its parts
    ui/cache/page.py             one more line
"""
