"""The presets: the settings that users expect under these names."""

from engine.sampling import SamplingSettings
from engine.sampling.presets import PRESETS


def test_preset_names_match_their_settings():
    assert PRESETS["Greedy"].is_greedy
    assert PRESETS["Pure sampling"].chain == ()
    assert PRESETS["Top-k 50"] == SamplingSettings(top_k=50)
    assert PRESETS["Top-p 0.9"] == SamplingSettings(top_p=0.9)
    assert PRESETS["Nucleus: p 0.9, T 0.7"] == SamplingSettings(top_p=0.9, temperature=0.7)
    assert PRESETS["Creative"].temperature > 1 > PRESETS["Code"].temperature
    assert len({settings.chain for settings in PRESETS.values()}) == len(PRESETS) == 7
    assert all(settings.seed == 0 and not settings.parity for settings in PRESETS.values())
