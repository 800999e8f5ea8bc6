// Streamlit sends this text with every message, so it only fetches what the app serves and hands over.
const mounted = new WeakMap();

const stylesheet = address =>
  new Promise((resolve, reject) => {
    const present = document.head.querySelector(`link[href="${address}"]`);
    if (present) return resolve();
    const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: address });
    link.onload = resolve;
    link.onerror = () => reject(new Error(`no ${address}`));
    document.head.append(link);
  });

function begin(root, held) {
  // Streamlit may mount anew in elements that an earlier mount has filled.
  for (const part of root.querySelectorAll('[data-part]')) part.replaceChildren();
  root.dataset.plotly = '{{plotly}}';
  root.style.visibility = 'hidden';
  Promise.all([
    import(new URL('{{modules}}/apps/step/main.js', location.origin)),
    ...'{{styles}}'.split(' ').map(stylesheet),
  ]).then(
    ([{ mount }]) => {
      if (held.is_gone) return;
      root.style.visibility = '';
      held.part = mount(root, event => held.send('event', event));
      held.part.receive(held.data);
    },
    error => {
      root.style.visibility = '';
      root.textContent = `The page's program could not be loaded (${error.message}); reload the page.`;
    },
  );
}

/** Light or dark, by the ground that the page stands on, in whatever notation the theme names it. */
function theme_of(root) {
  const probe = document.createElement('i');
  probe.style.color = 'var(--st-background-color, #fff)';
  root.append(probe);
  const [red, green, blue] = getComputedStyle(probe)
    .color.match(/[\d.]+/g)
    .map(Number);
  probe.remove();
  return red + green + blue < 384 ? 'dark' : 'light';
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.dv');
  let held = mounted.get(root);
  if (!held) {
    held = {};
    mounted.set(root, held);
    begin(root, held);
  }
  held.send = setTriggerValue;
  const theme = theme_of(root);
  if (root.dataset.theme !== theme) {
    root.dataset.theme = theme;
    held.part?.restyle();
  }
  if (data !== held.data) {
    held.data = data;
    held.part?.receive(data);
  }
  return () => {
    held.is_gone = true;
    held.part?.destroy();
    mounted.delete(root);
  };
}
