// The link by which a page was opened (`ui/visits/link.py`).

const PARAMETER = 'state';

/** Take the link out of the page's address, so that a reload keeps what a person does next. Empty if there is none. */
export function take_link() {
  const address = new URL(location.href);
  const link = address.searchParams.get(PARAMETER) ?? '';
  if (link) {
    address.searchParams.delete(PARAMETER);
    history.replaceState(history.state, '', address);
  }
  return link;
}
