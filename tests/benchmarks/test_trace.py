"""The split of a browser's trace and profile, on events written by hand."""

from benchmarks.page.trace import script_times, self_times

MAIN, OTHER = {"pid": 1, "tid": 1}, {"pid": 2, "tid": 1}


def event(name: str, start: float, ms: float, thread: dict = MAIN) -> dict:
    return {"name": name, "ph": "X", "ts": start * 1e3, "dur": ms * 1e3, **thread}


def test_nested_events_count_once():
    named = {"name": "thread_name", "ph": "M", "args": {"name": "CrRendererMain"}}
    events = [
        *({**named, **thread} for thread in (MAIN, OTHER)),
        event("RunTask", 0, 10),
        event("Layout", 3, 2),
        event("FunctionCall", 1, 6),
        event("UpdateLayoutTree", 4, 0.5),
        event("Paint", 8, 1),
        event("Layout", 20, 4),
        event("Layout", 0, 100, OTHER),
    ]
    found = self_times(events)
    assert found == {"other": 3.0, "script": 4.0, "layout": 5.5, "style": 0.5, "paint": 1.0}


def test_script_is_split_by_file_and_function():
    def frame(number: int, function: str, url: str) -> dict:
        at = {"functionName": function, "url": url, "lineNumber": 6}
        return {"id": number, "callFrame": at}

    address = "http://127.0.0.1/js/parts/strip/strip.js?hash"
    profile = {
        "nodes": [frame(1, "(idle)", ""), frame(2, "update", address), frame(3, "", address)],
        "samples": [1, 2, 3, 2],
        "timeDeltas": [5000, 1000, 500, 2000],
    }
    files, functions = script_times(profile)
    assert files == {"parts/strip/strip.js": 3.5}
    assert functions == {
        "update (parts/strip/strip.js)": 3.0,
        "line 7 (parts/strip/strip.js)": 0.5,
    }
