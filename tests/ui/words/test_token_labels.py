"""The labels of a vocabulary: shared while it lives, and released with it."""

import gc
import weakref

import numpy as np

from engine.model import load_model
from tests.engine.model.loading.folders import tiny_model, tiny_tokenizer
from ui.words.token_labels import labels_of


def test_unused_model_is_freed_with_its_labels(tmp_path):
    tiny_model().save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    model = load_model(tmp_path)
    labels = labels_of(model.vocabulary)
    assert labels[65] and labels.find("a", np.zeros(260), 3)
    kept = [weakref.ref(part) for part in (model, model.hf, model.tokenizer, model.vocabulary)]
    del model, labels
    gc.collect()
    assert [part() for part in kept] == [None] * 4, "a model that was left is still in memory"


def test_labels_are_shared_per_vocabulary(model):
    vocabulary = model.vocabulary
    first, second = labels_of(vocabulary), labels_of(vocabulary)
    assert first[5] is second[5]
    assert first.find(first[5], np.zeros(vocabulary.size), 5)[0] == 5
