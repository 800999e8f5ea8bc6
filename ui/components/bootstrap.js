// Streamlit sends this text with every message, so it only fetches the program that mounts the app.

/** @typedef {import('./js/apps/mounting.js').Given} Given */
/** @typedef {import('./js/apps/mounting.js').Places} Places */

const places = /** @type {Places} */ (JSON.parse('{{places}}'));
const program = import(new URL(places.mounting, location.origin).href);

/** @param {Omit<Given, 'data'> & {data: [Given['data']]}} given by Streamlit, with every message */
export default function (given) {
  let end = () => {};
  let is_gone = false;
  program.then(
    ({ show }) => {
      if (!is_gone) end = show({ ...given, data: given.data[0] }, places);
    },
    error => {
      given.parentElement.textContent = `The page's program could not be loaded (${error.message}); reload the page.`;
    },
  );
  return () => {
    is_gone = true;
    end();
  };
}
