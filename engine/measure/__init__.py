"""Costs of a model on this machine: time, memory and their ceilings, measured.

    machine          setting of a measurement: processor, versions, dtype, threads, date
    measurement      base of every measurement: parts, measured one after the other
    report           measurements of a machine, written to and read from one JSON file

Every timed pass waits for its turn in the scheduler, and only its own time counts. So the figures
exclude other users' work on the model.
"""

from engine.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    {
        "cache_bytes": "MOST_BATCH CacheBytes CacheBytesMeasurement",
        "machine": "PACKAGES Machine Setting versions",
        "measurement": "MOST_POSITIONS Measurement",
        "pace": "Pace PaceMeasurement",
        "prefill_and_decode": "MOST_ROUNDS Cell PrefillAndDecode PrefillAndDecodeMeasurement",
        "prefix_reuse": "PrefixMeasurement PrefixResult Reuse",
        "quantised.measurement": "QuantisedMeasurement",
        "quantised.reading": "GREEDY ReadText",
        "quantised.result": "MOST_COMPARED Along QuantisedPoint QuantisedResult",
        "report": "Report",
        "roofline.measurement": "MOST_ROWS Plan RooflineMeasurement",
        "roofline.results": "BATCH DECODE PREFILL PRODUCT Ceiling Pass Roofline",
        "samples": "median outliers p95",
        "window": "LEAST_WINDOW MOST_WINDOW TOUCHED WindowEdge WindowMeasurement",
        "with_and_without": "WithAndWithout WithAndWithoutMeasurement",
    },
)
