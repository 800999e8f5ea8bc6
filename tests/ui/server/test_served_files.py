"""Files and values for the browser, at addresses that change with their content."""

from starlette.applications import Starlette
from starlette.testclient import TestClient

from ui.components.apps import MODULES, SERVED
from ui.server.served_files import VALUES, address, address_of_value, routes

CLIENT = TestClient(Starlette(routes=routes(SERVED)))


def test_value_is_served_immutably_at_its_own_address():
    address = address_of_value({"Step": "Schritt", "₂": [1, None]})
    answer = CLIENT.get(address)
    assert answer.json() == {"Step": "Schritt", "₂": [1, None]}
    assert "immutable" in answer.headers["Cache-Control"]
    assert address_of_value({"Step": "Schritt", "₂": [1, None]}) == address
    assert address_of_value({"Step": "Schritt"}) != address


def test_unknown_value_is_not_found():
    assert CLIENT.get(f"{VALUES}/{'0' * 24}.json").status_code == 404


def test_module_is_served_as_immutable():
    answer = CLIENT.get(f"{address(MODULES)}/apps/mounting.js")
    assert answer.status_code == 200 and "immutable" in answer.headers["Cache-Control"]
