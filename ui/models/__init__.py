"""The models of this process, and choosing one."""
