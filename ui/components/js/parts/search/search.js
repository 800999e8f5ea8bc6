// The search over the whole vocabulary: tokens that match a text or that it is split into, what became of
// each, and the smallest change of one setting that would admit it. why.js shows a chosen one's whole way.

import { element, set_attribute, set_text } from '../../lib/dom.js';
import { count, percent, quoted, score_text } from '../../words/format.js';
import { create_choice, create_pieces } from './pieces.js';
import { knowledge_of, learn_token } from '../../kernel/row.js';
import { candidate } from '../../view/view.js';
import { admission } from '../../view/admit.js';
import { blocked_text, change_order, create_why, describe_change, in_slices, removal } from './why.js';

const DEBOUNCE_MS = 150;
const SETTLED_MS = 120; // without a change for so long, the smallest changes are worked out
const MOST_MATCHES = 12; // the answer holds one more where there are more
const LONGEST_QUERY = 60;
const NO_SCORES = 'There are no scores here to search in; press Back first.';

/** The part with the field `Search the vocabulary`. */
export function create(root, actions) {
  let matches = [];
  let pieces = []; // the tokens that the text is split into
  let latest = { state: null, view: null };
  let asked_for = ''; // the query that the matches answer, or will
  let answered = ''; // the query that the list was last filled for: another one starts at its top
  let asked_step = null; // the step they were asked at: ranks by logit are a step's own
  let request = 0; // number of the newest request; answers to older ones are dropped
  let is_waiting = false;
  let timer = 0;
  let advice_timer = 0;
  let stop_search = () => {};

  const field = element('input', {
    type: 'search',
    'aria-label': 'Search the vocabulary',
    autocomplete: 'off',
    spellcheck: 'false',
    autocapitalize: 'off',
    maxlength: '200',
  });
  const status = element('p', { class: 'dv-search-status', role: 'status' });
  const list = element('ul', { class: 'dv-search-results dv-hidden', 'aria-label': 'Matches' });
  const split = create_pieces(choose);
  const why = create_why(actions, () => choose(null));
  root.append(
    element('div', { class: 'dv-search-panel', role: 'search' }, field, status, split.node, list, why.node),
  );
  const items = [];

  field.addEventListener('input', () => {
    clearTimeout(timer);
    if (field.value === '') clear();
    else timer = setTimeout(find, DEBOUNCE_MS);
  });

  field.addEventListener('keydown', event => {
    event.stopPropagation(); // what is typed here is no shortcut of the page
    if (event.isComposing) return;
    if (event.key === 'Enter') find();
    else if (event.key === 'Escape') clear();
  });

  list.addEventListener('keydown', event => {
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

  /** Show a token's way; the one that is on show already is put away. */
  function choose(token) {
    const is_shown = token !== null && token.id === why.token?.id;
    why.show(token === null || is_shown ? null : { id: token.id, label: token.label });
    draw_choice();
  }

  function draw_choice() {
    const chosen = why.token?.id;
    for (const item of items) item.choice.press(item.match.id === chosen);
    split.update(asked_for, pieces, chosen);
  }

  async function find() {
    clearTimeout(timer);
    const query = field.value;
    if (query === '' || !latest.state) return;
    const number = ++request;
    if (query !== asked_for) {
      pieces = [];
      why.show(null);
    }
    asked_for = query;
    asked_step = step_key(latest.state);
    is_waiting = true;
    draw();
    const answer = await actions.find(query).then(
      found => ({ found: found ?? [], said: found ? describe_result(query, found.length) : NO_SCORES }),
      error => ({ found: [], said: `The search did not work: ${error.message}` }),
    );
    if (number !== request) return;
    is_waiting = false;
    matches = answer.found.slice(0, MOST_MATCHES);
    learn(matches);
    if (matches.length === 1 && query !== answered) why.show(matches[0]);
    if (query !== answered) list.scrollTop = 0;
    answered = query;
    set_text(status, answer.said);
    draw();
    const split_up = await actions.tokenize(query);
    if (number !== request) return;
    pieces = split_up;
    learn(pieces);
    draw();
  }

  /** Take down where the tokens rank: stages that edit them, and their ways, are exact from then on. */
  function learn(found) {
    const { state, view } = latest;
    if (!view || asked_step !== step_key(state)) return;
    const before = knowledge_of(state.row);
    for (const token of found) if (token.raw_rank !== null) learn_token(state.row, token);
    if (view.inexact_because && knowledge_of(state.row) !== before) actions.show({});
  }

  function draw() {
    const { state, view } = latest;
    list.classList.toggle('dv-hidden', matches.length === 0);
    list.classList.toggle('dv-waiting', is_waiting || is_stale());
    set_attribute(list, 'aria-busy', is_waiting ? 'true' : null);
    while (items.length > matches.length) items.pop().li.remove();
    while (items.length < matches.length) {
      const item = create_item(actions, choose);
      items.push(item);
      list.append(item.li);
    }
    items.forEach((item, at) => update_item(item, matches[at], view && candidate(state, view, matches[at])));
    draw_choice();
    if (latest.state) why.update(latest.state, view);
    hush();
    if (view && !is_stale()) advice_timer = setTimeout(advise, SETTLED_MS, 0);
  }

  /** One match at a time: each takes many trial runs of the chain. */
  function advise(at) {
    const item = items.slice(at).find(each => each.found?.removed_by);
    if (!item) return;
    stop_search = in_slices(admission(latest.state, item.match), found => {
      if (found) show_advice(item, found);
      advise(items.indexOf(item) + 1);
    });
  }

  function hush() {
    clearTimeout(advice_timer);
    stop_search();
  }

  const is_stale = () => matches.length > 0 && asked_step !== step_key(latest.state);

  function update(state, view) {
    latest = { state, view };
    const vocab = view?.vocab ?? state.model.vocab_size;
    set_attribute(field, 'placeholder', `search all ${count(vocab)} tokens`);
    if (asked_for === '') return;
    // A playing text changes its step faster than anyone reads: ask once it stands still.
    if (asked_step !== step_key(state) && state.mode === 'paused' && view !== null) find();
    else draw();
  }

  function destroy() {
    clearTimeout(timer);
    hush();
    why.destroy();
  }

  return { update, destroy };
}

const step_key = ({ session, run, branch, index, row_key }) =>
  [session, run, branch, index, row_key].join('/');

function describe_result(query, number) {
  const text = quoted(query, LONGEST_QUERY);
  if (number === 0) return `No token of the vocabulary matches ${text}.`;
  if (number > MOST_MATCHES) {
    return `The first ${MOST_MATCHES} of more than ${MOST_MATCHES} tokens that match ${text}.`;
  }
  return `${number === 1 ? '1 token matches' : `${number} tokens match`} ${text}.`;
}

function create_item(actions, choose) {
  const item = { match: null, found: null, change: null, choice: create_choice(choose) };
  const apply = () => {
    actions.set(item.change);
    actions.settle();
  };
  item.figures = element('span', { class: 'dv-match-figures' });
  item.removal = element('span', { class: 'dv-match-removed' });
  item.outcome = element('span');
  item.fate = element('span', { class: 'dv-match-fate' }, item.removal, item.outcome);
  item.apply = element('button', { type: 'button', onclick: apply });
  item.force = element('button', {
    type: 'button',
    text: 'Force',
    onclick: event => {
      if (event.detail <= 1) actions.force(item.match.id); // not the second half of a double click
    },
  });
  item.li = element(
    'li',
    {},
    item.choice.node,
    item.figures,
    item.fate,
    element('span', { class: 'dv-match-actions' }, item.apply, item.force),
  );
  return item;
}

/** `found`: what `candidate` says of the match; null without a row of scores. */
function update_item(item, match, found) {
  item.match = match;
  item.found = found;
  item.choice.update(match);
  set_attribute(item.force, 'aria-label', `Force ${match.label}`);
  const is_possible = match.logit !== null;
  const figures = [`id ${match.id}`];
  if (is_possible) figures.push(...describe_ranks(match.raw_rank, found?.rank));
  figures.push(`logit ${score_text(match.logit ?? -Infinity)}`);
  if (found) figures.push(`probability ${percent(found.prob)}`);
  set_text(item.figures, figures.join(' · '));
  set_text(item.removal, is_possible && found?.removed_by ? removal(found) : '');
  set_text(item.outcome, describe_outcome(found, is_possible));
  set_change(item, null);
}

/** Matches stand in the order of their logits; the rank in the table may be another one. */
function describe_ranks(raw_rank, rank) {
  if (rank === raw_rank) return [`rank ${count(rank)}`];
  const by_logit = `rank by logit ${count(raw_rank)}`;
  return rank === undefined ? [by_logit] : [`rank ${count(rank)}`, by_logit];
}

function describe_outcome(found, is_possible) {
  if (!is_possible) return 'impossible: its logit is −∞';
  if (!found) return '';
  if (found.removed_by) return '; looking for the smallest change that would admit it';
  return found.final_prob === null ? 'kept' : `kept, ${percent(found.final_prob)} in the draw`;
}

/** `found`: what `admit` found. */
function show_advice(item, found) {
  const advice = found.blocked_by
    ? blocked_text(found).replace(/^N/, 'n')
    : `the smallest change that would admit it: ${describe_change(found)}`;
  set_text(item.outcome, `; ${advice}`);
  set_change(item, found.blocked_by ? null : found);
}

/** The button that applies a change; where it vanishes under the focus, its neighbour takes that over. */
function set_change(item, change) {
  const { apply, force, match } = item;
  item.change = change && { [change.setting]: change.value };
  if (change) {
    set_text(apply, change_order(change));
    set_attribute(apply, 'aria-label', `${change_order(change)} to admit ${match.label}`);
  } else if (apply.getRootNode().activeElement === apply) {
    force.focus({ preventScroll: true });
  }
  apply.classList.toggle('dv-hidden', change === null);
}
