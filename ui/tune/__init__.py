"""The tune page: a sweep over one or two settings, on a visitor's own prompts."""
