"""Parts that all pages share: header, theme, fields, tables, background work."""
