"""Parts of every page: header, theme, fields, tables, work in the background."""
