// Links to other pages of the app, without loading all of it anew.

/** @param {string} href */
export function go_to(href) {
  history.pushState({}, '', href);
  window.dispatchEvent(new PopStateEvent('popstate', { state: {} })); // as after Back, for which Streamlit listens
}

/** A press that is to stay in this tab. @param {MouseEvent} event */
export const is_plain = ({ button, ctrlKey, metaKey, shiftKey, altKey }) =>
  button === 0 && !ctrlKey && !metaKey && !shiftKey && !altKey;

/** Lets a link be followed within the app. @param {HTMLAnchorElement} link */
export function stay_in_app(link) {
  link.addEventListener('click', event => {
    if (!is_plain(event)) return;
    event.preventDefault();
    go_to(link.href);
  });
  return link;
}
