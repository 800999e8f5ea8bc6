"""The models loaded in this process, and how visitors choose and load one."""
