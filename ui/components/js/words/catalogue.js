// Every stage of the sampling chain for people: what it is called, what it does, which numbers it takes.
// Names, fields, ranges and the words of a complaint are the engine's; a test compares them.

/** The groups of the chooser, in its order. */
export const GROUPS = [
  { name: 'penalties', label: 'Penalties and bans' },
  { name: 'temperature', label: 'Temperature' },
  { name: 'truncation', label: 'Truncation' },
  { name: 'adaptive', label: 'Adaptive' },
];

const whole = value => value.toLocaleString('en-US');
const arxiv = (text, number) => ({ text, url: `https://arxiv.org/abs/${number}` });

// --- checks: what is wrong with a finite number, or null ------------------------------------

const between = (low, high) => value =>
  value < low || value > high ? `must be between ${low} and ${high}` : null;
const above = (low, high) => value =>
  value <= low || value > high ? `must be above ${low} and at most ${high}` : null;
/** A cut whose 0 means off. */
const off_or_above = high => value => (value === 0 ? null : above(0, high)(value));
const off_or_share = value => (value < 0 || value >= 1 ? 'must be above 0 and below 1' : null);
const whole_or_off = value =>
  value < 0 || !Number.isInteger(value) ? 'must be 0 or a positive whole number' : null;
const not_whole = value => (Number.isInteger(value) ? null : 'must be a whole number');

function check_penalty(value) {
  return value <= 0 ? 'must be above 0' : between(0.001, 1000)(value);
}

function check_temperature(value) {
  if (value < 0) return 'must not be negative';
  if (value > 0 && value < 1e-6) return 'is too small to divide by';
  return value > 1e6 ? 'must be at most 1,000,000' : null;
}

function check_top_k(value, _others, vocab) {
  const too_many = vocab && value > vocab ? `is above the vocabulary of ${whole(vocab)} tokens` : null;
  return whole_or_off(value) ?? too_many;
}

const check_allowed_length = value => not_whole(value) ?? (value < 1 ? 'must be at least 1' : null);
const check_last_n = value =>
  not_whole(value) ?? (value < 1 && value !== -1 ? 'must be -1 or at least 1' : null);

function check_highest(value, { low }) {
  if (value < 1e-6 || value > 1e6) return 'must be between 1e-06 and 1e+06';
  return value < low ? `must not be below low, ${low}` : null;
}
function check_lowest(value, { high }) {
  if (value < 0 || value > 1e6) return 'must be between 0 and 1e+06';
  return value > high ? `must not be above high, ${high}` : null;
}

// --- the stages -----------------------------------------------------------------------------

/** A stage whose value is one number; its field has the stage's label. */
const one = ({ remedy, ...stage }, field) => ({
  ...stage,
  editor: 'number',
  fields: [{ integer: false, ...field, label: stage.label, remedy }],
});
/** A stage of several numbers: its value is an object of them, null while it is off. */
const several = (stage, ...fields) => ({
  ...stage,
  editor: 'numbers',
  off: null,
  fields: fields.map(field => ({ integer: false, ...field })),
});

const PENALTY_REMEDY = 'use 0 to switch it off, 0.1 to 1 against repetition';
const CUTOFF_REMEDY = 'use 0 to switch it off, 0.0003 to 0.004 is usual';

/**
 * All stages, in the order in which they apply by default.
 *
 * `about` and `formula` are for the card's details, `idle` is said of a card that is off. `editor` says what
 * the value is: one number, numbers by name, token ids with biases, or token sequences. A field's `check`
 * gets the value, the stage's fields and the size of the vocabulary; what it returns goes between the
 * setting's name and what was typed, and `remedy` after it. `rest` are fields that no control changes; of a
 * `pair` of fields the first is never above the second.
 */
export const STAGES = [
  {
    name: 'logit_bias',
    label: 'Logit bias',
    kind: 'edit',
    group: 'penalties',
    editor: 'biases',
    off: null,
    about: 'Adds a number of your choice to the scores of single tokens.',
    formula: 'z[i] → z[i] + bias[i]',
    paper: null,
    idle: 'no token is biased',
    fields: [
      {
        name: 'bias',
        label: 'Bias',
        low: -10,
        high: 10,
        step: 0.1,
        usual: 2,
        integer: false,
        check: between(-1000, 1000),
        remedy: '1 to 5 nudges, 100 all but forces, -100 all but bans',
      },
    ],
  },
  one(
    {
      name: 'repetition_penalty',
      label: 'Repetition penalty',
      kind: 'edit',
      group: 'penalties',
      off: 1,
      about: 'Makes every token that is already in the text less likely, however often it came.',
      formula: 'seen tokens: z / r where z > 0, z · r where z < 0',
      paper: arxiv('Keskar et al. 2019 (CTRL)', '1909.05858'),
      idle: 'no score is changed',
      remedy: 'use 1 to switch it off, 1.1 to 1.3 against loops',
    },
    { name: 'penalty', low: 1, high: 2, step: 0.01, usual: 1.2, check: check_penalty },
  ),
  one(
    {
      name: 'presence_penalty',
      label: 'Presence penalty',
      kind: 'edit',
      group: 'penalties',
      off: 0,
      about: 'Lowers every token that was generated before by the same amount; the prompt does not count.',
      formula: 'generated tokens: z − α',
      paper: { text: 'OpenAI API', url: 'https://platform.openai.com/docs/api-reference/chat/create' },
      idle: 'no score is changed',
      remedy: PENALTY_REMEDY,
    },
    { name: 'penalty', low: -2, high: 2, step: 0.05, usual: 0.5, check: between(-100, 100) },
  ),
  one(
    {
      name: 'frequency_penalty',
      label: 'Frequency penalty',
      kind: 'edit',
      group: 'penalties',
      off: 0,
      about: 'Lowers every generated token once more each time it came; the prompt does not count.',
      formula: 'generated tokens: z − α · count',
      paper: { text: 'OpenAI API', url: 'https://platform.openai.com/docs/api-reference/chat/create' },
      idle: 'no score is changed',
      remedy: PENALTY_REMEDY,
    },
    { name: 'penalty', low: -2, high: 2, step: 0.05, usual: 0.5, check: between(-100, 100) },
  ),
  several(
    {
      name: 'dry',
      label: 'DRY',
      kind: 'edit',
      group: 'penalties',
      about: 'Lowers tokens that would continue a repeated passage, the more the longer the passage.',
      formula: 'z − multiplier · base^(repeated length − allowed length)',
      paper: {
        text: 'DRY (p-e-w 2024)',
        url: 'https://github.com/oobabooga/text-generation-webui/pull/5677',
      },
      idle: 'repetition goes unpunished',
      rest: { breakers: [] },
    },
    {
      name: 'multiplier',
      label: 'Multiplier',
      low: 0,
      high: 5,
      step: 0.05,
      usual: 0.8,
      check: between(0, 1000),
      remedy: '0.8 is usual, 0 has no effect',
    },
    {
      name: 'base',
      label: 'Base',
      low: 1,
      high: 4,
      step: 0.05,
      usual: 1.75,
      check: between(1, 1000),
      remedy: '1.75 is usual, 1 does not grow',
    },
    {
      name: 'allowed_length',
      label: 'Allowed length',
      low: 1,
      high: 20,
      step: 1,
      usual: 2,
      integer: true,
      check: check_allowed_length,
      remedy: 'use 2, or another positive number of tokens',
    },
    // Steps of 16 from -1 on, so that the slider passes over 0, which means nothing.
    {
      name: 'last_n',
      label: 'Last n tokens',
      low: -1,
      high: 511,
      step: 16,
      usual: -1,
      integer: true,
      words: { '-1': 'all' },
      check: check_last_n,
      remedy: 'use -1 for the whole context, or a positive number of tokens',
    },
  ),
  one(
    {
      name: 'no_repeat_ngram',
      label: 'No-repeat n-gram',
      kind: 'edit',
      group: 'penalties',
      off: 0,
      about: 'Bans every token that would complete a run of n tokens that is already in the text.',
      formula: 'z = −∞ where the last n − 1 tokens and the token came before',
      paper: arxiv('Paulus et al. 2017', '1705.04304'),
      idle: 'runs may come again',
      remedy: 'use 0 to switch it off, or the length of the n-grams, such as 3',
    },
    { name: 'n', low: 0, high: 10, step: 1, usual: 3, integer: true, check: whole_or_off },
  ),
  {
    name: 'banned',
    label: 'Banned words',
    kind: 'edit',
    group: 'penalties',
    editor: 'words',
    off: null,
    about: 'Rules words out: single tokens always, the last token of a longer word after its beginning.',
    formula: 'z = −∞ for the token that would complete a banned word',
    paper: null,
    idle: 'no word is banned',
    fields: [],
  },
  one(
    {
      name: 'min_new_tokens',
      label: 'Min new tokens',
      kind: 'edit',
      group: 'penalties',
      off: 0,
      about: 'Rules out the end of the text until so many tokens have been generated.',
      formula: 'z = −∞ for the end tokens while fewer than n tokens are generated',
      paper: null,
      idle: 'the text may end at once',
      remedy: 'use 0 to switch it off, or a number of tokens',
    },
    { name: 'n', low: 0, high: 128, step: 1, usual: 32, integer: true, check: whole_or_off },
  ),
  one(
    {
      name: 'temperature',
      label: 'Temperature',
      kind: 'edit',
      group: 'temperature',
      off: 1,
      about: 'Divides all scores by T: below 1 the leader gains, above 1 the others do; 0 is greedy.',
      formula: 'p[i] = exp(z[i] / T) / Σ exp(z[j] / T)',
      paper: { text: 'Ackley, Hinton and Sejnowski 1985', url: 'https://doi.org/10.1207/s15516709cog0901_7' },
      idle: '1 leaves the model’s own odds',
      remedy: 'use 0 for greedy, or 0.000001 or more (1 leaves the model’s own odds)',
    },
    { name: 'temperature', low: 0, high: 2, step: 0.01, usual: 0.7, check: check_temperature },
  ),
  several(
    {
      name: 'dynamic_temperature',
      label: 'Dynamic temperature',
      kind: 'edit',
      group: 'temperature',
      about: 'A temperature of its own for every step: low where the model is sure, high where it is torn.',
      formula: 'T = low + (high − low) · (H / log2 n)^exponent',
      paper: { text: 'llama.cpp 2024', url: 'https://github.com/ggml-org/llama.cpp/pull/4972' },
      idle: 'the same temperature at every step',
      pair: ['low', 'high'],
    },
    {
      name: 'low',
      label: 'Lowest T',
      low: 0,
      high: 2,
      step: 0.01,
      usual: 0.5,
      check: check_lowest,
      remedy: 'use for example 0.5 to 1.5',
    },
    {
      name: 'high',
      label: 'Highest T',
      low: 0.01,
      high: 3,
      step: 0.01,
      usual: 1.5,
      check: check_highest,
      remedy: 'use for example 0.5 to 1.5, or temperature 0 for greedy',
    },
    {
      name: 'exponent',
      label: 'Exponent',
      low: 0.1,
      high: 4,
      step: 0.05,
      usual: 1,
      check: between(0.01, 100),
      remedy: '1 is usual',
    },
  ),
  one(
    {
      name: 'top_h',
      label: 'Top-H',
      kind: 'cut',
      group: 'adaptive',
      off: null,
      about: 'Keeps leading tokens until their share of the entropy is used up, among the 100 best.',
      formula: '−Σ p log p over the kept ≤ h · H',
      paper: arxiv('Baghaei Potraghloo et al. 2025', '2509.02510'),
      idle: 'no limit on the entropy',
      remedy: 'switch it off by its switch, 0.4 is usual',
    },
    { name: 'h', low: 0.01, high: 1, step: 0.01, usual: 0.4, check: above(0, 1) },
  ),
  one(
    {
      name: 'top_k',
      label: 'Top-k',
      kind: 'cut',
      group: 'truncation',
      off: 0,
      about: 'Keeps the k highest scores, and all that are equal to the k-th.',
      formula: 'keep rank ≤ k',
      paper: arxiv('Fan et al. 2018', '1805.04833'),
      idle: 'any number of tokens',
      remedy: (value, vocab) =>
        vocab && value > vocab
          ? `use at most ${whole(vocab)}, or 0 to switch it off`
          : 'use 0 to switch it off, or a whole number of tokens to keep',
    },
    { name: 'k', low: 0, high: 200, step: 1, usual: 50, integer: true, check: check_top_k },
  ),
  one(
    {
      name: 'top_p',
      label: 'Top-p',
      kind: 'cut',
      group: 'truncation',
      off: 1,
      about: 'Keeps the fewest leading tokens that together hold probability p: the nucleus.',
      formula: 'keep the smallest n with p[1] + … + p[n] ≥ p',
      paper: arxiv('Holtzman et al. 2019', '1904.09751'),
      idle: 'the whole mass',
      remedy: 'use 1 to switch it off, or temperature 0 for greedy',
    },
    { name: 'p', low: 0.01, high: 1, step: 0.01, usual: 0.9, check: above(0, 1) },
  ),
  one(
    {
      name: 'min_p',
      label: 'Min-p',
      kind: 'cut',
      group: 'truncation',
      off: 0,
      about: 'Keeps tokens that have at least this share of the leader’s probability.',
      formula: 'keep p[i] ≥ min_p · p[1]',
      paper: arxiv('Nguyen et al. 2024', '2407.01082'),
      idle: 'no threshold',
      remedy: 'use 0 to switch it off, 0.05 to 0.1 with a high temperature',
    },
    { name: 'ratio', low: 0, high: 1, step: 0.005, usual: 0.05, check: between(0, 1) },
  ),
  one(
    {
      name: 'typical_p',
      label: 'Typical-p',
      kind: 'cut',
      group: 'adaptive',
      off: 1,
      about: 'Keeps tokens whose surprise is closest to the entropy, which may leave the leader out.',
      formula: 'order by |−log p[i] − H|, keep the first with mass p',
      paper: arxiv('Meister et al. 2022', '2202.00666'),
      idle: 'the whole mass',
      remedy: 'use 1 to switch it off, 0.9 or 0.95 is usual',
    },
    { name: 'p', low: 0.01, high: 1, step: 0.01, usual: 0.9, check: above(0, 1) },
  ),
  one(
    {
      name: 'epsilon_cutoff',
      label: 'Epsilon cutoff',
      kind: 'cut',
      group: 'truncation',
      off: 0,
      about: 'Keeps tokens above a fixed probability.',
      formula: 'keep p[i] ≥ ε',
      paper: arxiv('Hewitt et al. 2022', '2210.15191'),
      idle: 'no threshold',
      remedy: CUTOFF_REMEDY,
    },
    { name: 'epsilon', low: 0, high: 0.01, step: 0.0001, usual: 0.0009, check: off_or_share },
  ),
  one(
    {
      name: 'eta_cutoff',
      label: 'Eta cutoff',
      kind: 'cut',
      group: 'adaptive',
      off: 0,
      about: 'Keeps tokens above a probability that falls where the model is torn.',
      formula: 'keep p[i] ≥ min(ε, √ε · exp(−H))',
      paper: arxiv('Hewitt et al. 2022', '2210.15191'),
      idle: 'no threshold',
      remedy: CUTOFF_REMEDY,
    },
    { name: 'epsilon', low: 0, high: 0.01, step: 0.0001, usual: 0.0009, check: off_or_share },
  ),
  one(
    {
      name: 'top_n_sigma',
      label: 'Top-n-sigma',
      kind: 'cut',
      group: 'truncation',
      off: 0,
      about: 'Keeps scores within n standard deviations of the highest, whatever the temperature.',
      formula: 'keep z[i] ≥ max z − n · σ(z)',
      paper: arxiv('Tang et al. 2024', '2411.07641'),
      idle: 'any distance from the highest score',
      remedy: 'use 0 to switch it off, 1 is usual',
    },
    { name: 'n', low: 0, high: 5, step: 0.05, usual: 1, check: off_or_above(100) },
  ),
  one(
    {
      name: 'tail_free',
      label: 'Tail-free',
      kind: 'cut',
      group: 'adaptive',
      off: 1,
      about: 'Cuts where the curve of the sorted probabilities stops bending: there the tail begins.',
      formula: 'keep up to the rank where Σ |p″| exceeds z of its sum',
      paper: { text: 'Bricken 2019', url: 'https://www.trentonbricken.com/Tail-Free-Sampling/' },
      idle: 'the tail stays',
      remedy: 'use 1 to switch it off, 0.95 is usual',
    },
    { name: 'z', low: 0.01, high: 1, step: 0.01, usual: 0.95, check: above(0, 1) },
  ),
  several(
    {
      name: 'xtc',
      label: 'XTC',
      kind: 'cut',
      group: 'truncation',
      about: 'Now and then removes the top choices, all that reach the threshold except the last of them.',
      formula: 'with this probability: remove p[i] ≥ threshold but for the least likely of them',
      paper: {
        text: 'XTC (p-e-w 2024)',
        url: 'https://github.com/oobabooga/text-generation-webui/pull/6335',
      },
      idle: 'the leaders stay',
    },
    {
      name: 'threshold',
      label: 'Threshold',
      low: 0.01,
      high: 0.5,
      step: 0.01,
      usual: 0.1,
      check: above(0, 1),
      remedy: '0.1 is usual, above 0.5 has no effect',
    },
    {
      name: 'probability',
      label: 'Probability',
      low: 0,
      high: 1,
      step: 0.01,
      usual: 0.5,
      check: between(0, 1),
      remedy: '0.5 is usual, 0 has no effect',
    },
  ),
  several(
    {
      name: 'mirostat',
      label: 'Mirostat',
      kind: 'cut',
      group: 'adaptive',
      about: 'Holds the surprise of the text near τ: each draw moves the limit μ for the next one.',
      formula: 'keep −log2 p[i] ≤ μ; then μ → μ − η · (surprise − τ)',
      paper: arxiv('Basu et al. 2020', '2007.14966'),
      idle: 'surprise goes where it will',
    },
    {
      name: 'tau',
      label: 'Target τ, bits',
      low: 0.1,
      high: 10,
      step: 0.1,
      usual: 5,
      check: above(0, 100),
      remedy: '3 to 5 bits are usual',
    },
    {
      name: 'eta',
      label: 'Rate η',
      low: 0.01,
      high: 1,
      step: 0.01,
      usual: 0.1,
      check: above(0, 1),
      remedy: '0.1 is usual',
    },
  ),
];

const BY_NAME = new Map(STAGES.map(stage => [stage.name, stage]));

/** A stage by its name, or undefined. */
export const stage_of = name => BY_NAME.get(name);

/** The cards of a page that nobody has changed; these are switched off, never removed. */
export const FIRST_CARDS = ['repetition_penalty', 'temperature', 'top_k', 'top_p', 'min_p'];

const PLACES = new Map(STAGES.map(({ name }, place) => [name, place]));

/** Names in their default order. */
export const sorted = names => [...names].sort((one, other) => PLACES.get(one) - PLACES.get(other));

/** Whether names stand in their default order. */
export const is_sorted = names => sorted(names).every((name, place) => name === names[place]);

/** Where a stage belongs among these: the place with the fewest stages on their wrong side. */
export function default_place(order, name) {
  const own = PLACES.get(name);
  let best = 0;
  let fewest = Infinity;
  for (let place = 0; place <= order.length; place++) {
    const wrong = order.filter((each, at) => at < place !== PLACES.get(each) < own).length;
    if (wrong <= fewest) [best, fewest] = [place, wrong]; // the last of equals: after its forerunners
  }
  return best;
}

/** What a stage starts with that has not been on yet; null where it needs a token first. */
export function usual_value(stage, defaults = {}) {
  if (stage.name in defaults) return defaults[stage.name];
  if (stage.editor === 'number') return stage.fields[0].usual;
  if (stage.editor !== 'numbers') return null;
  return { ...Object.fromEntries(stage.fields.map(({ name, usual }) => [name, usual])), ...stage.rest };
}
