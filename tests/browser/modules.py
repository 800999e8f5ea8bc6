"""The component's JavaScript modules in a page of their own: no server, no Streamlit.

Chromium asks a made-up host for them, and the files are handed to it from the source folder.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Route

MODULES = Path(__file__).resolve().parents[2] / "ui" / "components" / "js"
ORIGIN = "http://modules.test"


@contextmanager
def modules_page(browser: Browser, *names: str) -> Iterator[Page]:
    """A blank page with the exports of these modules (`shape.js`) in `window.modules`.

    An uncaught exception in the page is raised where the block ends.
    """
    context = browser.new_context()
    try:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route(f"{ORIGIN}/**", _fulfil)
        page.goto(f"{ORIGIN}/")
        page.evaluate(
            """async names => {
              const all = await Promise.all(names.map(name => import(`/js/${name}`)));
              window.modules = Object.assign({}, ...all);
            }""",
            list(names),
        )
        yield page
        assert not errors, "\n".join(errors)
    finally:
        context.close()


def _fulfil(route: Route) -> None:
    folder, _, name = urlsplit(route.request.url).path.lstrip("/").partition("/")
    if folder != "js":
        route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
    elif (MODULES / name).is_file():
        route.fulfill(body=(MODULES / name).read_bytes(), content_type="text/javascript")
    else:
        route.fulfill(status=404, body=f"no module {name}")
