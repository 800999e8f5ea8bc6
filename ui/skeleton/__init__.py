"""What every page is made of: header, theme, fields, tables, work in the background."""
