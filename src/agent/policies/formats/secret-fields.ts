/** Which fields of Kubernetes objects and of CRI messages may hold secrets. */

const SECRET_FIELDS =
  /^(?:envFrom|imagePullSecrets|secret|secretRef|stringData|auths?|authorization)$|(?:password|token|credentials?|apiKey|privateKey)$/iu;
const PAIR_FIELDS: ReadonlySet<string> = new Set(['env', 'envs', 'httpHeaders']);
const COMMAND_FIELDS: ReadonlySet<string> = new Set(['command', 'args']);

export const REDACTED = '***';
const USER_IN_URL = /(?<=\/\/)[^/\s]+(?=@)/gu;
/** In the name of an option or a variable, what shows that its value is secret, and the rest of the name. */
const SECRET_NAME = /(?:passw(?:or)?d|secret|token|api[-_]?key|credentials?|authorization)[\w-]*/giu;
/** What follows such a name: `=x`, `: Bearer x`, `": "x`. */
const VALUE = /(["']?\s*[=:]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"']+/iuy;
const OPTION = /^--?[\w-]+$/u;

export function isSecretField(name: string): boolean {
  return SECRET_FIELDS.test(name);
}

/** Lists of `{ name, value }` or `{ key, value }` whose values are secret. */
export function hasSecretValues(name: string): boolean {
  return PAIR_FIELDS.has(name);
}

/** Command lines, also of hooks and probes: some of their words may be secret. */
export function isCommandField(name: string): boolean {
  return COMMAND_FIELDS.has(name);
}

/** Whether the value at that path must not be repeated in a message. */
export function mayBeSecret(path: readonly string[]): boolean {
  return path.some(
    (name) => isSecretField(name) || hasSecretValues(name) || isCommandField(name) || name === 'annotations',
  );
}

/** Without the user and the password of a URL. */
export function redactUrls(text: string): string {
  return text.includes('//') ? text.replace(USER_IN_URL, REDACTED) : text;
}

/**
 * Also without the values of options and variables whose names show that they are secret: `--password=x`, `TOKEN=x`,
 * `Authorization: Bearer x`. In linear time: a text may be a word of a command, of any length and content.
 */
export function redactText(text: string): string {
  let redacted = '';
  let end = 0;
  for (const { index, 0: name } of text.matchAll(SECRET_NAME)) {
    // The name is part of a value that is left out.
    if (index < end) continue;
    const nameEnd = index + name.length;
    VALUE.lastIndex = nameEnd;
    const value = VALUE.exec(text);
    if (value === null) continue;
    redacted += `${text.slice(end, nameEnd)}${value[1] ?? ''}${REDACTED}`;
    end = nameEnd + value[0].length;
  }
  return redactUrls(redacted + text.slice(end));
}

/** Whether the next word is the value of a secret option: `--password`. */
export function announcesSecret(word: string): boolean {
  return OPTION.test(word) && word.search(SECRET_NAME) >= 0;
}

/** A URL as logs and messages show it: without user and password, and without its query, which may hold a token. */
export function shownURL(url: string): string {
  const [address = '', query] = url.split(/[?#]/u, 2);
  const shown = address.replace(/^([a-z][a-z\d+.-]*:)?(\/\/)?[^/]*@/iu, '$1$2');
  return query === undefined ? shown : `${shown}?…`;
}
