"""Many texts compared: metrics of a text, sweeps over settings."""
