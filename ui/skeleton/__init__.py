"""What every page is made of: header, theme, fields, tables, errors, work in the background."""
