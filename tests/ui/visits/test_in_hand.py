"""The prompt in hand: the newest goes to every page, once, and later typing stays."""

from dataclasses import dataclass

from ui.visits.in_hand import Prompt, PromptInHand


@dataclass
class Holder:
    name: str
    prompt: str

    @property
    def prompt_held(self) -> Prompt:
        return Prompt(self.prompt)

    def take_prompt(self, prompt: Prompt, settings=None) -> None:
        self.prompt = prompt.text


def opened(hand: PromptInHand, holders: list[Holder], holder: Holder) -> str:
    hand.look(holders)
    prompt = hand.due(holder)
    if prompt is not None:
        hand.follow(holder, prompt)
    return holder.prompt


def test_newest_prompt_is_taken_once_by_every_page():
    hand, holders = PromptInHand(), [Holder(name, f"of {name}") for name in ("a", "b", "c")]
    a, b, c = holders
    assert [opened(hand, holders, one) for one in holders] == ["of a", "of b", "of c"]
    a.prompt = "typed"
    assert [opened(hand, holders, one) for one in (b, a)] == ["typed", "typed"]
    b.prompt = "typed later"
    assert [opened(hand, holders, one) for one in (b, c, a, b)] == ["typed later"] * 4
    assert hand.newest == Prompt("typed later")


def test_refusing_page_is_not_asked_again():
    class Full(Holder):
        def take_prompt(self, prompt: Prompt, settings=None) -> None:
            pass

    hand, a, full = PromptInHand(), Holder("a", "x"), Full("full", "own")
    hand.look([a, full])
    a.prompt = "long"
    assert opened(hand, [a, full], full) == "own"
    assert hand.due(full) is None and hand.newest == Prompt("long")


def test_prompts_match_if_chat_state_is_unknown():
    assert Prompt("x", True).is_same(Prompt("x")) and Prompt("x").is_same(Prompt("x", True))
    assert not Prompt("x", True).is_same(Prompt("x", False))
