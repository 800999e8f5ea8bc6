// Search over the whole vocabulary: a token's rank, the sampler that removed it, the change that would admit it; and
// the tokens that a text is split into.

import { learn_token } from '../../kernel/row.js';
import { element, set_attribute, set_text } from '../../lib/dom.js';
import { candidate } from '../../view/view.js';
import { count, percent, quoted, score_text } from '../../words/format.js';
import { say } from '../../words/say.js';
import { create_coverage } from './coverage.js';
import { create_choice, create_pieces } from './pieces.js';
import { create_why } from './why.js';

/** @import { Actions, FoundToken, State, ViewRow } from '../../types.js' */
/** @typedef {import('./why.js').Properties & Pick<State, 'visit' | 'run' | 'branch' | 'index' | 'row_key'>} Properties */

const DEBOUNCE_MS = 150;
const MOST_MATCHES = 12; // the answer holds one more if there are more
const LONGEST_QUERY = 60;

/** @param {HTMLElement} root @param {Actions} actions */
export function create(root, actions) {
  /** @type {FoundToken[]} */
  let matches = [];
  /** @type {FoundToken[]} */
  let pieces = []; // the tokens that the text is split into
  /** @type {Properties|null} */
  let state = null;
  let asked_for = ''; // the query of the current or pending matches
  let answered = ''; // the query that last filled the list: a new one starts at the top
  let asked_step = ''; // the step of the request: ranks by logit belong to a step
  let request = 0; // number of the latest request; answers to older ones are dropped
  let is_waiting = false;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;

  const field = element('input', {
    type: 'search',
    'aria-label': say('Search the vocabulary'),
    autocomplete: 'off',
    spellcheck: 'false',
    autocapitalize: 'off',
    maxlength: '200',
  });
  const status = element('p', { class: 'dv-muted', role: 'status' });
  const list = element('ul', { class: 'dv-matches dv-hidden', 'aria-label': say('Matches') });
  const split = create_pieces(choose);
  const why = create_why(actions, () => choose(null));
  const results = element('div', { class: 'dv-results dv-hidden' }, status, split.node, list, why.node);
  root.classList.add('dv-search');
  root.setAttribute('role', 'search');
  const coverage = create_coverage(actions);
  root.append(coverage.node, field, results);
  /** @type {ReturnType<typeof create_item>[]} */
  const items = [];

  field.addEventListener('input', () => {
    clearTimeout(timer);
    if (field.value === '') clear();
    else timer = setTimeout(find, DEBOUNCE_MS);
  });
  root.addEventListener('keydown', event => {
    if (event.target === field) event.stopPropagation(); // typed letters are not page shortcuts
    if (event.isComposing) return;
    if (event.key === 'Enter' && event.target === field) find();
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    clear();
    field.focus({ preventScroll: true });
  });

  function clear() {
    clearTimeout(timer);
    request += 1;
    field.value = '';
    asked_for = '';
    matches = [];
    pieces = [];
    is_waiting = false;
    set_text(status, '');
    choose(null);
    draw();
  }

  /** Show a token's path; hide it if it is already on show. @param {FoundToken|null} token */
  function choose(token) {
    const is_shown = token !== null && token.id === why.token?.id;
    why.show(token === null || is_shown ? null : token);
    draw_choice();
  }

  function draw_choice() {
    const chosen = why.token?.id;
    for (const item of items) item.choice.press(item.match?.id === chosen);
    split.update(asked_for, pieces, chosen);
  }

  async function find() {
    clearTimeout(timer);
    const query = field.value;
    if (query === '' || !state) return;
    const number = ++request;
    if (query !== asked_for) {
      pieces = [];
      why.show(null);
    }
    asked_for = query;
    asked_step = step_key(state);
    is_waiting = true;
    draw();
    const found = await actions.find(query);
    if (number !== request) return;
    is_waiting = false;
    matches = (found ?? []).slice(0, MOST_MATCHES);
    learn(matches);
    if (matches.length === 1 && query !== answered) why.show(matches[0]);
    if (query !== answered) list.scrollTop = 0;
    answered = query;
    set_text(
      status,
      found ? result_words(query, found.length) : say('There are no scores here to search in; press Back first.'),
    );
    draw();
    const split_up = await actions.tokenize(query);
    if (number !== request) return;
    pieces = split_up;
    learn(pieces);
    draw();
  }

  /** Record the tokens' ranks, so that their paths can be shown. @param {FoundToken[]} found */
  function learn(found) {
    const row = state?.row;
    if (!row || !state || asked_step !== step_key(state)) return;
    for (const token of found) if (token.raw_rank !== null) learn_token(row, plain_token(token));
  }

  function draw() {
    results.classList.toggle('dv-hidden', asked_for === '');
    list.classList.toggle('dv-hidden', matches.length === 0);
    list.classList.toggle('dv-waiting', is_waiting || is_stale());
    set_attribute(list, 'aria-busy', is_waiting ? 'true' : null);
    while (items.length > matches.length) items.pop()?.li.remove();
    while (items.length < matches.length) {
      const item = create_item(actions, choose);
      items.push(item);
      list.append(item.li);
    }
    const now = state;
    items.forEach((item, at) =>
      update_item(item, matches[at], now?.view ? candidate(now, now.view, plain_token(matches[at])) : null, now),
    );
    draw_choice();
    if (now) why.update(now);
  }

  const is_stale = () => matches.length > 0 && state !== null && asked_step !== step_key(state);

  return {
    /** @param {Properties} now */
    update(now) {
      state = now;
      coverage.update(now);
      const vocab = now.view?.vocab ?? now.model?.vocab_size ?? 0;
      set_attribute(field, 'placeholder', say('search all {count} tokens', { count: count(vocab) }));
      if (asked_for === '') return;
      // A playing text changes its step faster than anyone reads: ask once it pauses.
      if (asked_step !== step_key(now) && now.mode === 'paused' && now.view !== null) find();
      else draw();
    },
    destroy() {
      clearTimeout(timer);
      why.destroy();
    },
  };
}

/** A found token in the form that the view takes. @param {FoundToken} found */
const plain_token = ({ raw_rank, ...token }) => ({ ...token, raw_rank: raw_rank ?? 0 });

/** @param {Properties} state */
const step_key = ({ visit, run, branch, index, row_key, row }) =>
  [visit, run, branch, index, row_key.split('/whole')[0], row?.listed ? 'some' : 'all'].join('/');

/** @param {string} query @param {number} number */
function result_words(query, number) {
  const text = quoted(query, LONGEST_QUERY);
  if (number === 0) return say('No token of the vocabulary matches {text}.', { text });
  if (number > MOST_MATCHES)
    return say('More than {count} tokens match {text}; these are the first.', { count: MOST_MATCHES, text });
  return number === 1
    ? say('1 token matches {text}.', { text })
    : say('{count} tokens match {text}.', { count: number, text });
}

/** @param {Pick<Actions, 'force'>} actions @param {(token: FoundToken|null) => void} choose */
function create_item(actions, choose) {
  const choice = create_choice(choose);
  const figures = element('span', { class: 'dv-muted dv-line' });
  const share = element('span', { class: 'dv-muted dv-figure' });
  const fate = element('span', { class: 'dv-line' });
  const force = element('button', {
    type: 'button',
    class: 'dv-quiet',
    text: say('Force'),
    onclick: (/** @type {MouseEvent} */ event) => {
      if (event.detail <= 1 && item.match) actions.force(item.match.id); // not the second half of a double click
    },
  });
  const item = {
    match: /** @type {FoundToken|null} */ (null),
    choice,
    figures,
    share,
    fate,
    force,
    li: element('li', {}, choice.node, figures, share, fate, force),
  };
  return item;
}

/**
 * @param {ReturnType<typeof create_item>} item
 * @param {FoundToken} match
 * @param {ViewRow|null} found the match as a row; null without scores
 * @param {Properties|null} state
 */
function update_item(item, match, found, state) {
  item.match = match;
  item.choice.update(match);
  set_attribute(item.force, 'aria-label', say('Force {token}', { token: match.label }));
  const is_possible = match.logit !== null && match.logit !== undefined;
  const rank = found ? found.rank : match.raw_rank;
  set_text(item.figures, is_possible && rank ? say('rank {rank}', { rank: count(rank) }) : '');
  const listed = (match.unlisted && state?.row?.listed) || null;
  const share = listed ? (match.probability ?? null) : (found?.model_prob ?? null);
  set_text(item.share, share === null ? '' : percent(share));
  set_attribute(item.li, 'title', `id ${match.id}, logit ${score_text(match.logit ?? -Infinity)}`);
  const by = state?.table.samplers.find(sampler => sampler.name === found?.removed_by)?.in_text ?? found?.removed_by;
  const fate = listed
    ? say('not among the {count} that the model lists', { count: count(listed.count) })
    : !is_possible
      ? say('impossible: its logit is −∞')
      : !found
        ? ''
        : found.removed_by
          ? say('removed by {sampler}', { sampler: by ?? '' })
          : found.final_prob === null
            ? say('kept')
            : say('kept, {probability} after settings', { probability: percent(found.final_prob) });
  set_text(item.fate, fate);
}
