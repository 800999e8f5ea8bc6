"""The models of this process, and the choice of one."""
