"""Metrics of servers, as real ones gave them; those of a running llama.cpp are in its own tests."""

import httpx2
import pytest

from engine.backend.client import Client
from engine.backend.metrics import ServerLoad, read_metrics
from engine.errors import CapabilityError

# Lines of vLLM 0.32.0 after 85 answers of one token each.
VLLM = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="target"} 0.0
vllm:num_requests_waiting{engine="0",model_name="target"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="target",reason="capacity"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="target"} 0.0
vllm:prefix_cache_queries_total{engine="0",model_name="target"} 2941.0
vllm:prefix_cache_queries_created{engine="0",model_name="target"} 1.7958950331115181e+09
vllm:prefix_cache_hits_total{engine="0",model_name="target"} 1280.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="target"} 85.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="target"} 8.12569808959961
vllm:inter_token_latency_seconds_count{engine="0",model_name="target"} 0.0
vllm:inter_token_latency_seconds_sum{engine="0",model_name="target"} 0.0
"""


def client(status: int, content: str) -> Client:
    answer = httpx2.Response(status, text=content)
    return Client("http://gpu.example", transport=httpx2.MockTransport(lambda request: answer))


def test_load_of_vllm_is_read():
    load = ServerLoad.of(read_metrics(client(200, VLLM)))
    assert load == ServerLoad(
        running=0,
        waiting=0,
        cache_used=0,
        prefix_hits=1280 / 2941,
        first_token_ms=pytest.approx(95.5964, abs=1e-4),
        token_ms=None,
    )


def test_values_with_different_labels_are_summed():
    second = VLLM.replace('engine="0"', 'engine="1"')
    metrics = read_metrics(client(200, VLLM + second))
    assert metrics["vllm:prefix_cache_hits_total"] == 2560


@pytest.mark.parametrize("status", [404, 501])
def test_server_without_metrics_is_named(status):
    with pytest.raises(CapabilityError, match=r"gpu\.example has no metrics"):
        read_metrics(client(status, "{}"))
    assert ServerLoad.of({}) == ServerLoad(None, None, None, None, None, None)
