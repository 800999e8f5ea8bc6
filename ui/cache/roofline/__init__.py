"""The section of the cache page that draws the roofline of this machine."""
