// Mounts an app into the element that Streamlit provides, passes new data to it, and removes it again.

import { speak } from '../words/say.js';

/**
 * @typedef {{update?: (data: object) => void, restyle: () => void, destroy: () => void}} App
 * @typedef {(name: string, value: unknown) => void} Tell
 * @typedef {(root: HTMLElement, data: object, tell: Tell) => App} Mount the export of an app's `main.js`
 *
 * @typedef {object} Data the data of every app, in addition to its own
 * @property {string} [language] the page's language
 * @property {string|null} [label] the accessible name of the app, in that language
 * @property {Record<string, string>} [served] addresses of values that seldom change, by the names under which the app
 *   receives the values; `sentences` are for all apps
 *
 * @typedef {{data: Data, parentElement: HTMLElement, setTriggerValue: Tell}} Given by Streamlit
 * @typedef {{mounting: string, app: string, styles: string[], plotly: string}} Places addresses of the files that the
 *   app serves
 * @typedef {{data: Data, values: object, tell: Tell, page: string, app?: App, is_gone?: boolean}} Held `page` is the
 *   path of the address under which it was mounted
 */

/** @type {WeakMap<HTMLElement, Held>} */
const mounted = new WeakMap();
/** @type {Map<string, Promise<any>>} */
const fetched = new Map();

/** @param {string} address @returns {Promise<unknown>} */
const stylesheet = address =>
  new Promise((resolve, reject) => {
    const present = document.head.querySelector(`link[href="${address}"]`);
    if (present) return resolve(null);
    const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: address });
    link.onload = resolve;
    link.onerror = () => reject(new Error(`no ${address}`));
    document.head.append(link);
  });

/** Fetch a value that the server has computed, once for all apps; a failure is retried. @param {string} address */
function value_at(address) {
  const known = fetched.get(address);
  if (known) return known;
  const asked = fetch(address).then(answer => {
    if (!answer.ok) throw new Error(`${answer.status} for ${address}`);
    return answer.json();
  });
  fetched.set(address, asked);
  asked.catch(() => fetched.delete(address));
  return asked;
}

/** @param {Data} data @returns {Promise<Record<string, any>>} */
async function values_of({ served = {} }) {
  const values = await Promise.all(Object.values(served).map(value_at));
  return Object.fromEntries(Object.keys(served).map((name, place) => [name, values[place]]));
}

/** @param {HTMLElement} root @param {Held} held @param {Places} places */
async function begin(root, held, places) {
  root.replaceChildren(); // an earlier mount may have filled it
  root.dataset.plotly = places.plotly;
  root.style.visibility = 'hidden';
  try {
    const [{ mount }, values] = await Promise.all([
      /** @type {Promise<{mount: Mount}>} */ (import(new URL(places.app, location.origin).href)),
      values_of(held.data),
      ...places.styles.map(stylesheet),
    ]);
    if (held.is_gone) return;
    speak(values.sentences ?? {});
    delete values.sentences;
    held.values = values;
    root.style.visibility = ''; // an app may take the focus, which a hidden element cannot have
    held.app = mount(root, { ...held.data, ...values }, (name, value) => report(held, name, value));
  } catch (error) {
    if (held.is_gone) return;
    root.style.visibility = '';
    root.textContent = `The page's program could not be loaded (${/** @type {Error} */ (error).message}); reload the page.`;
  }
}

/**
 * Report an event to Streamlit, unless the visitor has left the page: the report would name the old page, and Streamlit
 * would go back to it.
 *
 * @param {Held} held @param {string} name @param {unknown} value
 */
function report(held, name, value) {
  if (location.pathname === held.page) held.tell(name, value);
}

/** @param {HTMLElement} root @param {Held} held */
function end(root, held) {
  if (held.is_gone) return;
  held.is_gone = true;
  held.app?.destroy();
  if (mounted.get(root) === held) mounted.delete(root);
}

/** Light or dark, by the page's background, whatever notation the theme uses. @param {HTMLElement} root */
function theme_of(root) {
  const probe = document.createElement('i');
  probe.style.color = 'var(--st-background-color, #fff)';
  root.append(probe);
  const [red, green, blue] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
  probe.remove();
  return red + green + blue < 384 ? 'dark' : 'light';
}

/** The inputs that an app reads only once: its labels, and values that it does not read again. @param {Data} data */
const written_with = ({ language, served }) => JSON.stringify([language, served]);

/**
 * Mount the app, or pass new data to the one already there.
 *
 * @param {Given} given
 * @param {Places} places
 * @returns {() => void} a function that removes it
 */
export function show({ data, parentElement, setTriggerValue }, places) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector('section'));
  let held = mounted.get(root);
  if (held && written_with(held.data) !== written_with(data)) {
    end(root, held);
    held = undefined;
  }
  if (data.label) root.setAttribute('aria-label', data.label);
  if (held) {
    held.data = data;
    held.tell = setTriggerValue;
    held.app?.update?.({ ...data, ...held.values });
  } else {
    held = { data, values: {}, tell: setTriggerValue, page: location.pathname };
    mounted.set(root, held);
    void begin(root, held, places);
  }
  const theme = theme_of(root);
  if (root.dataset.theme !== theme) {
    root.dataset.theme = theme;
    held.app?.restyle();
  }
  const here = held;
  return () => end(root, here);
}
