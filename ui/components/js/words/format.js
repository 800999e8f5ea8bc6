// Numbers and token texts for reading. The same wording everywhere: "0.03 %", "16,384", "1.5 KiB".

import { stage_of } from './catalogue.js';

const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** 16384 -> "16,384". */
export const count = number => WHOLE.format(number);

/** "1 token", "16,384 tokens". */
export const tokens = number => `${count(number)} ${number === 1 ? 'token' : 'tokens'}`;

/** A probability as a percentage; one that is not 0 or 1 never looks as if it were. */
export function percent(probability) {
  if (probability === 0) return '0 %';
  if (probability < 1e-6) return '< 0.0001 %';
  if (probability < 1e-3) return `${(probability * 100).toFixed(4)} %`;
  if (probability >= 0.99995 && probability < 1 - 1e-12) return '> 99.99 %';
  return `${(probability * 100).toFixed(2)} %`;
}

/** Bytes in units of 1,024. */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  for (const unit of ['KiB', 'MiB', 'GiB']) {
    value /= 1024;
    if (value < 1024 || unit === 'GiB') return `${value.toFixed(1)} ${unit}`;
  }
}

/** Milliseconds, with as many digits as mean something. */
export const ms = time => `${time < 10 ? time.toFixed(2) : time.toFixed(1)} ms`;

/** Entropy in bits. */
export const bits = entropy => `${entropy.toFixed(2)} bits`;

/** A score with a true minus sign; one that is not finite as an infinity. */
export function score_text(score, digits = 2) {
  if (!Number.isFinite(score)) return score > 0 ? '∞' : '−∞';
  const far = Math.abs(score); // from 0; very far, only its leading digits can be read
  const text = far < 1e7 ? far.toFixed(digits) : far.toExponential(digits).replace('e+', 'e');
  return score < 0 && Number(text) > 0 ? `−${text}` : text;
}

/** The field's name of a stage as a heading: "Top-k". */
export function stage_label(name) {
  return stage_of(name)?.label ?? name.replace(/^./, first => first.toUpperCase());
}

/** The same within a sentence: "top-k", "DRY"; what is no stage stays as it is. */
export function stage_name(name) {
  const stage = stage_of(name);
  if (!stage) return name;
  const is_own_name = /^[A-Z]{2}|^Mirostat/.test(stage.label);
  return is_own_name ? stage.label : stage.label.replace(/^./, first => first.toLowerCase());
}

/** At most `longest` characters, the rest as an ellipsis; never splits a surrogate pair. */
export function shorten(text, longest) {
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

/** A token among other words: set apart, so that right-to-left letters do not reorder the sentence. */
export const isolated = (label, longest = 16) => `\u2068${shorten(String(label ?? ''), longest)}\u2069`;

/** The same in quotes, which stay around it. */
export const quoted = (label, longest = 24) => `“${isolated(label, longest)}”`;

/** A token label as Plotly text: Plotly reads tags and entities, so they are escaped. */
export function plotly_text(label, longest = 24) {
  return shorten(label, longest).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
