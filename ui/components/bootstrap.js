// Streamlit sends this text with every message, so it only fetches what the app serves and hands over.

/** @typedef {{update?: (data: object) => void, restyle: () => void, destroy: () => void}} App */
/** @typedef {{language?: string, sentences?: Record<string, string>, label?: string}} Spoken what the page speaks, and the app's name in it */
/** @typedef {{data: Spoken, tell: (name: string, value: unknown) => void, app?: App, is_gone?: boolean}} Held */

/** @type {WeakMap<HTMLElement, Held>} */
const mounted = new WeakMap();

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

/** @param {HTMLElement} root @param {Held} held */
function begin(root, held) {
  root.replaceChildren(); // an earlier mount may have filled it
  root.dataset.plotly = '{{plotly}}';
  root.style.visibility = 'hidden';
  if (held.data.label) root.setAttribute('aria-label', held.data.label);
  const program = new URL('{{app}}', location.origin).href;
  const words = new URL('{{words}}', location.origin).href;
  Promise.all([import(program), import(words), ...'{{styles}}'.split(' ').map(stylesheet)]).then(
    ([{ mount }, { speak }]) => {
      if (held.is_gone) return;
      speak(held.data.sentences ?? {});
      root.style.visibility = '';
      held.app = mount(root, held.data, (/** @type {string} */ name, /** @type {unknown} */ value) =>
        held.tell(name, value),
      );
    },
    error => {
      root.style.visibility = '';
      root.textContent = `The page's program could not be loaded (${error.message}); reload the page.`;
    },
  );
}

/** @param {HTMLElement} root @param {Held} held */
function end(root, held) {
  held.is_gone = true;
  held.app?.destroy();
  if (mounted.get(root) === held) mounted.delete(root);
}

/** Light or dark, by the ground that the page stands on, in whatever notation the theme names it. @param {HTMLElement} root */
function theme_of(root) {
  const probe = document.createElement('i');
  probe.style.color = 'var(--st-background-color, #fff)';
  root.append(probe);
  const [red, green, blue] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
  probe.remove();
  return red + green + blue < 384 ? 'dark' : 'light';
}

/** @param {{data: Spoken, parentElement: HTMLElement, setTriggerValue: Held['tell']}} given by Streamlit */
export default function ({ data, parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector('section'));
  let held = mounted.get(root);
  if (held && held.data.language !== data.language) {
    end(root, held); // labels are written once
    held = undefined;
  }
  if (!held) {
    held = { data, tell: setTriggerValue };
    mounted.set(root, held);
    begin(root, held);
  }
  held.data = data;
  held.tell = setTriggerValue;
  held.app?.update?.(data);
  const theme = theme_of(root);
  if (root.dataset.theme !== theme) {
    root.dataset.theme = theme;
    held.app?.restyle();
  }
  const here = held;
  return () => end(root, here);
}
