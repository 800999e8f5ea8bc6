// The stages that change scores: penalties.py, dry.py, bans.py and temperature.py of engine/stages/. Scores
// are float32, as there.

const LOWEST_TEMPERATURE = 1e-6;
const LARGEST_DRY_PENALTY = 1e30;

/** A seen token's score: divided by the penalty where positive, multiplied where negative. */
function penalised(score, penalty) {
  const factor = Math.fround(penalty);
  return Math.fround(score < 0 ? score * factor : score / factor);
}

const all_with = (ids, argument) => new Map(Array.from(ids, id => [id, argument]));
const added = (score, amount) => Math.fround(score + amount);
const subtracted = (score, amount) => Math.fround(score - amount);
const banned = () => -Infinity;

/**
 * By name, the stages that move a few tokens: `touched(value, context)` is a Map from ids to an argument
 * each, `move(score, argument)` a touched token's new score, -Infinity where it is banned.
 */
export const EDITS = {
  logit_bias: {
    touched: ({ bias }) => new Map(bias.map(([id, amount]) => [id, Math.fround(amount)])),
    move: added,
  },
  repetition_penalty: {
    touched: (penalty, context) => all_with(context.seen, penalty),
    move: penalised,
  },
  presence_penalty: {
    touched: (penalty, context) => all_with(context.counts.keys(), Math.fround(penalty)),
    move: subtracted,
  },
  frequency_penalty: {
    touched: (penalty, context) => {
      const once = Math.fround(penalty);
      return new Map(Array.from(context.counts, ([id, times]) => [id, Math.fround(once * times)]));
    },
    move: subtracted,
  },
  dry: { touched: dry_penalties, move: subtracted },
  no_repeat_ngram: {
    touched: (n, context) => all_with(repeated_ngram_ends(n, context.token_ids)),
    move: banned,
  },
  banned: {
    touched: ({ sequences }, context) => all_with(completed(sequences, context)),
    move: banned,
  },
  min_new_tokens: {
    touched: (n, { token_ids, prompt_length, eos_ids }) =>
      all_with(token_ids.length - prompt_length < n ? eos_ids : []),
    move: banned,
  },
};

/** The edits that do nothing but remove tokens. */
export const BANS = ['no_repeat_ngram', 'banned', 'min_new_tokens'];

/** By name, the stages that divide all scores: (value, survivors) -> {temperature, ...figures}. */
export const SCALES = {
  temperature: temperature => ({ temperature }),
  dynamic_temperature: ({ low, high, exponent }, survivors) => {
    // A single token has no entropy to speak of, and is left as it is.
    if (survivors.count === 1) return { temperature: 1, entropy: 0, entropy_share: 0 };
    const entropy_share = Math.min(1, survivors.entropy / Math.log(survivors.count));
    const temperature = Math.max(low + (high - low) * entropy_share ** exponent, LOWEST_TEMPERATURE);
    return { temperature, entropy: survivors.entropy_bits, entropy_share };
  },
};

/** Ends of the n-grams whose first n - 1 tokens are the last n - 1 of the text. */
function repeated_ngram_ends(n, ids) {
  const ends = [];
  for (let end = n - 1; end < ids.length; end++) {
    let back = 1;
    while (back < n && ids[end - back] === ids[ids.length - back]) back++;
    if (back === n) ends.push(ids[end]);
  }
  return ends;
}

/** Last tokens of the sequences whose others just stood; an end of text alone cannot be banned. */
export function completed(sequences, { token_ids, eos_ids }) {
  const stands = beginning =>
    beginning.length <= token_ids.length &&
    beginning.every((id, place) => id === token_ids[token_ids.length - beginning.length + place]);
  return sequences
    .filter(ids => (ids.length === 1 ? !eos_ids.includes(ids[0]) : stands(ids.slice(0, -1))))
    .map(ids => ids.at(-1));
}

/** What DRY takes from each token that would extend a repetition. */
function dry_penalties({ multiplier, base, allowed_length, last_n, breakers }, { token_ids }) {
  if (multiplier === 0) return new Map();
  const growth = Math.log(base);
  const penalty = length => {
    const exponent = Math.log(multiplier) + growth * (length - allowed_length);
    return Math.fround(Math.min(LARGEST_DRY_PENALTY, Math.exp(Math.min(exponent, 700))));
  };
  // Beyond it the penalty no longer grows.
  const further = (Math.log(LARGEST_DRY_PENALTY) - Math.log(multiplier)) / growth;
  const longest = allowed_length + (growth === 0 ? 0 : Math.ceil(Math.max(0, Math.min(further, 1e9))));
  const ids = last_n === -1 ? token_ids : token_ids.slice(-last_n);
  const lengths = repetitions(ids, { allowed_length, breakers: new Set(breakers), longest });
  return new Map(Array.from(lengths, ([id, length]) => [id, penalty(length)]));
}

/** Token id -> length of the longest repetition that it would extend, from the allowed length on. */
function repetitions(ids, { allowed_length, breakers, longest }) {
  const found = new Map();
  if (ids.length < 2) return found;
  const last_break = ids.findLastIndex(id => breakers.has(id));
  const most = Math.min(longest, ids.length - 1 - last_break);
  // Where the run that ends the text also ends; shrinks as the run is made longer.
  let ends = [];
  for (let end = 0; end < ids.length - 1; end++) if (!breakers.has(ids[end + 1])) ends.push(end);
  for (let length = 1; length <= most; length++) {
    const wanted = ids[ids.length - length];
    ends = ends.filter(end => end >= length - 1 && ids[end - length + 1] === wanted);
    if (!ends.length) break;
    if (length >= allowed_length) for (const end of ends) found.set(ids[end + 1], length);
  }
  return found;
}
