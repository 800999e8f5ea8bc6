"""Settings under familiar names, as starting points."""

from __future__ import annotations

from engine.sampling import SamplingSettings

# The seeds have no meaning: applying a preset keeps the current seed.
PRESETS: dict[str, SamplingSettings] = {
    "Greedy": SamplingSettings(temperature=0),
    "Pure sampling": SamplingSettings(),
    "Top-k 50": SamplingSettings(top_k=50),
    "Top-p 0.9": SamplingSettings(top_p=0.9),
    "Nucleus: p 0.9, T 0.7": SamplingSettings(temperature=0.7, top_p=0.9),
    "Creative": SamplingSettings(temperature=1.2, min_p=0.05),
    "Code": SamplingSettings(temperature=0.2, top_p=0.95),
}
