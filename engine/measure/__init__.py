"""What a model costs on this machine: time, memory and their ceilings, measured.

    machine          what measured: processor, versions, dtype, threads, date
    measurement      what every measurement is: parts, measured one after the other
    report           measurements of a machine as one JSON file, and back

Every timed pass waits for its turn in the scheduler, and is timed within that turn: what others do
with the model is waited for, and is in no figure.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "engine.measure.cache_bytes": "CacheBytes CacheBytesMeasurement",
        "engine.measure.machine": "Machine Setting versions",
        "engine.measure.measurement": "Measurement",
        "engine.measure.pace": "Pace PaceMeasurement",
        "engine.measure.prefill_and_decode": "Cell PrefillAndDecode PrefillAndDecodeMeasurement",
        "engine.measure.prefix_reuse": "PrefixMeasurement PrefixResult Reuse",
        "engine.measure.quantised.measurement": "QuantisedMeasurement",
        "engine.measure.quantised.reading": "ReadText",
        "engine.measure.quantised.result": "QuantisedResult",
        "engine.measure.report": "Report",
        "engine.measure.roofline.measurement": "RooflineMeasurement",
        "engine.measure.roofline.results": "Roofline",
        "engine.measure.samples": "median outliers p95",
        "engine.measure.window": "WindowEdge WindowMeasurement",
        "engine.measure.with_and_without": "WithAndWithout WithAndWithoutMeasurement",
    },
)
