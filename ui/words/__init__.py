"""Words on the pages: token labels, the table of samplers, the glossary, translations."""
