/** JSON as Go's encoding/json writes it: besides what JSON demands, it escapes what could end a script in a web page. */

const ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** `indent`: how many spaces each level has; 0 or left out: everything in one line. */
export function goJSON(value: unknown, indent = 0): string {
  // These characters can only stand within strings, so the whole text can be escaped.
  return JSON.stringify(value, undefined, indent).replaceAll(
    /[<>&\u2028\u2029]/gu,
    (character) => ESCAPES[character] ?? character,
  );
}
