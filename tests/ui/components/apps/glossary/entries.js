// A glossary of three terms, on a site of two pages.

const NONE = { everyday: [], places: [] };
export const GLOSSARY = {
  logit: {
    name: 'Logit',
    text: 'The raw <b>score</b>.',
    written: ['logit', 'logits'],
    everyday: ['raw number'],
    places: ['step', 'softmax'],
    page: 'step',
    at: 'Logits',
  },
  'KV cache': { name: 'KV cache', text: 'What is kept.', written: ['KV cache'], page: 'cache', at: 'Bytes', ...NONE },
  cache: { name: 'Cache', text: 'A shorter word.', written: ['cache'], page: 'cache', at: 'Bytes', ...NONE },
};
export const SITE = { base: '/app', home: 'step', titles: { step: 'Step', cache: 'Cache' }, glossary: 'how' };
