// Links to other pages of the app that avoid a full reload.

/** @param {string} href */
export function go_to(href) {
  history.pushState({}, '', href);
  window.dispatchEvent(new PopStateEvent('popstate', { state: {} })); // as after Back, which Streamlit listens for
}

/** Tell if a press should stay in this tab. @param {MouseEvent} event */
export const is_plain = ({ button, ctrlKey, metaKey, shiftKey, altKey }) =>
  button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;

/** Make a link navigate within the app. @param {HTMLAnchorElement} link */
export function stay_in_app(link) {
  link.addEventListener('click', event => {
    if (!is_plain(event)) return;
    event.preventDefault();
    go_to(link.href);
  });
  return link;
}
