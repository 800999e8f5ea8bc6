"""The section of the cache page that counts the bytes of the loaded model's cache."""
