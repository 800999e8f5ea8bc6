"""What would let a removed token in, against every change of one setting, tried one by one.

Random chains of up to five stages, in an order of their own half of the time, over 120 tokens. What
is tried is told anew here, from the sliders in the catalogue, and all of it is run.
"""

import pytest

from tests.browser.modules import modules_page

CHAINS = 60  # a seed; nine tokens each
SEEDS = (1, 2, 3)

COMPARE = """([seed, chains]) => {
  const { admit, STAGES, stage_of, OFF, is_on, shape_of } = window.modules;
  const VOCAB = 120;
  const random = (() => { // mulberry32
    let state = seed;
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let word = Math.imul(state ^ (state >>> 15), 1 | state);
      word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
      return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
    };
  })();
  const between = (low, high) => low + (high - low) * random();
  const below = number => Math.floor(random() * number);
  const pick = list => list[below(list.length)];
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const shuffled = list => list.map(each => [random(), each]).sort().map(([, each]) => each);
  const bias = () => [below(20), Math.round(between(-80, 80)) / 10];
  const VALUES = {
    logit_bias: () => ({ bias: [bias()] }), repetition_penalty: () => between(0.8, 2),
    presence_penalty: () => between(-2, 2), frequency_penalty: () => between(-2, 2),
    dry: () => ({ multiplier: between(0.1, 5), base: 1.75, allowed_length: pick([1, 2]), last_n: -1,
      breakers: [] }),
    no_repeat_ngram: () => pick([1, 2, 3]),
    banned: () => ({ sequences: [[below(15)], [below(15)], [pick([3, 4]), below(15)]] }),
    min_new_tokens: () => pick([1, 4, 20]), temperature: () => pick([0, 0.3, 0.7, 1.3, 1.8]),
    dynamic_temperature: () => (
      { low: pick([0, 0.5]), high: pick([1, 2]), exponent: pick([0.5, 1]) }),
    top_h: () => between(0.05, 0.9), top_k: () => pick([1, 2, 5, 20, 60]),
    top_p: () => between(0.1, 0.95), min_p: () => between(0.01, 0.6),
    typical_p: () => between(0.1, 0.95), epsilon_cutoff: () => pick([0.0009, 0.004, 0.02, 0.05]),
    eta_cutoff: () => pick([0.0009, 0.004, 0.02, 0.3]), top_n_sigma: () => between(0.3, 3),
    tail_free: () => between(0.1, 0.95),
    xtc: () => ({ threshold: between(0.01, 0.3), probability: pick([0.3, 0.7, 1]) }),
    mirostat: () => ({ tau: between(0.3, 5), eta: 0.1 }),
  };

  /** A row of random scores without equals, and where the text stands. */
  function random_state() {
    const spread = between(0.5, 3.5);
    const scores = Float32Array.from({ length: VOCAB }, () => normal() * spread);
    const ids = Uint32Array.from([...scores.keys()].sort((a, b) => scores[b] - scores[a]));
    const row = {
      vocab: VOCAB, possible: VOCAB, exact: true, ids, values: ids.reduce((all, id, place) => {
        all[place] = scores[id];
        return all;
      }, new Float32Array(VOCAB)),
      counts: new Uint32Array(VOCAB).fill(1), seen_ids: [], seen_ranks: [], seen_values: [],
      index: 6, is_pending: true, chosen: null, u: 0.5, xtc_u: random(),
      mirostat: random() < 0.5 ? null : { tau: pick([3, 1]), mu: between(-1, 8) },
    };
    const names = STAGES.map(({ name }) => name);
    const order = shuffled(names).slice(0, 1 + below(5));
    if (random() < 0.5) order.sort((a, b) => names.indexOf(a) - names.indexOf(b));
    const on = order.filter(() => random() < 0.9).map(name => [name, VALUES[name]()]);
    const settings = { ...OFF, order, seed: 0, ...Object.fromEntries(on) };
    const steps = [3, 4, 3, 4, 3, pick([3, 4])].map(id => ({ id }));
    return { row, scores, settings, steps, prompt_tokens: [{ id: ids[2] }, { id: ids[0] }],
      model: { eos_ids: [ids[1]] } };
  }

  const positions = ({ low, high, step }) => Array.from(
    { length: Math.floor((high - low) / step + 1e-6) + 1 },
    (_, place) => Number((low + place * step).toFixed(6)));

  /** Every change of one setting: [setting, value, field]. */
  function all_changes({ settings, row }, id) {
    return settings.order.flatMap(name => {
      const { editor, fields } = stage_of(name);
      const off = [name, OFF[name]];
      if (name === 'logit_bias') {
        const others = (settings.logit_bias?.bias ?? []).filter(([each]) => each !== id);
        const own = positions(fields[0]).map(value => [name, { bias: [...others, [id, value]] }]);
        return [off, ...own];
      }
      if (name === 'top_k') {
        return [off, ...Array.from({ length: row.possible }, (_, place) => [name, place + 1])];
      }
      if (editor === 'number') return [off, ...positions(fields[0]).map(value => [name, value])];
      if (!is_on(settings, name)) return [];
      if (name === 'banned') {
        const sequences = settings.banned.sequences.filter(words => words.at(-1) !== id);
        return [off, [name, sequences.length ? { sequences } : null]];
      }
      const is_valid = value => !(value.low > value.high) && value.last_n !== 0;
      return [off, ...fields.flatMap(field => positions(field)
        .map(value => [name, { ...settings[name], [field.name]: value }, field.name])
        .filter(([, value]) => is_valid(value)))];
    });
  }

  const result = { removed: 0, admitted: 0, blocked: 0, settings: {}, problems: [] };
  for (let chain = 0; chain < chains; chain++) {
    const state = random_state();
    const { settings, scores, row } = state;
    for (const rank of [1, 2, 3, 4, 6, 9, 14, 31, 91]) {
      const id = row.ids[rank - 1];
      const survives = changes => shape_of(state, changes).trace(rank).at(-1) > 0;
      const problem = (...what) => {
        result.problems.push(JSON.stringify([chain, rank, ...what, settings]));
      };
      const found = admit(state, { id, raw_rank: rank, logit: scores[id] });
      if (shape_of(state).trace(rank).at(-1) > 0) {
        if (found !== null) problem('admitted though it survives', found);
        continue;
      }
      result.removed++;
      const changes = all_changes(state, id);
      if (found.blocked_by) {
        result.blocked++;
        const way = changes.find(([name, value]) => survives({ [name]: value }));
        if (way) problem('a single change would do', way, found);
        const without = names => Object.fromEntries(names.map(name => [name, OFF[name]]));
        if (!survives(without(found.blocked_by))) problem('these are not all that block it', found);
        for (const name of found.blocked_by) {
          const others = found.blocked_by.filter(each => each !== name);
          if (survives(without(others))) problem('one of them is not needed', name, found);
        }
        continue;
      }
      const { setting, value, field } = found;
      result.admitted++;
      result.settings[setting] = (result.settings[setting] ?? 0) + 1;
      if (!survives({ [setting]: value })) problem('the change does not admit it', found);
      // Off lies beyond the loose end of these.
      const has_end = ['top_k', 'top_h', 'top_n_sigma', 'no_repeat_ngram'].includes(setting);
      const number = each => (
        has_end && each === OFF[setting] ? Infinity : field ? each?.[field] : each);
      const [from, to] = [settings[setting], value].map(number);
      if (typeof to !== 'number') continue;
      const is_passed = each => (each - from) * (to - each) > 0 && Math.abs(each - to) > 1e-9
        && Math.abs(each - from) > 1e-9;
      const nearer = changes.find(([name, other, own]) => name === setting && own === field
        && is_passed(number(other)) && survives({ [name]: other }));
      if (nearer) problem('a nearer value would do', nearer, found);
    }
  }
  return result;
}"""


@pytest.fixture(scope="module")
def page(browser):
    names = ("view/admit.js", "words/catalogue.js", "kernel/chain.js", "view/chain.js")
    with modules_page(browser, *names) as page:
        yield page


@pytest.mark.parametrize("seed", SEEDS)
def test_what_admits_a_token_and_what_blocks_it_hold_against_every_change(page, seed):
    result = page.evaluate(COMPARE, [seed, CHAINS])
    assert result["problems"] == []
    assert result["removed"] > 100 and result["admitted"] > 100 and result["blocked"] > 10
    assert len(result["settings"]) > 8
