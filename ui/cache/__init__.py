"""The cache page: what a KV cache saves and costs, in sections (see `ui.measurements`).

    page.py         the definition of this page, with its sections in order

To add a section:

    engine/measure/<name>.py     a `Measurement` and its result, a dataclass that a file can store
    ui/cache/<name>.py           `SECTION`, a `Section`: fields, picture, notice, tables, charts;
                                 a long one is a folder with `section.py` and other files
    ui/cache/page.py             one more entry in `SECTIONS`
"""
