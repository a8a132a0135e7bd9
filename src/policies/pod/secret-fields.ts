/** Which fields of Kubernetes objects and of CRI messages may hold secrets. */

/** Fields that hold a secret or refer to one. */
const SECRET_FIELDS =
  /^(?:envFrom|imagePullSecrets|secret|secretRef|stringData|auths?|authorization)$|(?:password|token|credentials?|apiKey|privateKey)$/iu;
const PAIR_FIELDS: ReadonlySet<string> = new Set(['env', 'envs', 'httpHeaders']);
const COMMAND_FIELDS: ReadonlySet<string> = new Set(['command', 'args']);

export const REDACTED = '***';
const USER_IN_URL = /(?<=\/\/)[^/\s]+(?=@)/gu;
const SECRET_OPTION = String.raw`[\w-]*(?:passw(?:or)?d|secret|token|api[-_]?key|credentials?|authorization)[\w-]*`;
/** `--password=x`, `TOKEN=x`, `Authorization: Bearer x`. */
const SECRET_IN_COMMAND = new RegExp(
  String.raw`(${SECRET_OPTION}["']?\s*[=:]\s*["']?(?:(?:bearer|basic)\s+)?)[^\s"']+`,
  'giu',
);
/** An option whose value is the next word. */
const LONE_SECRET_OPTION = new RegExp(`^--?${SECRET_OPTION}$`, 'iu');

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

/** Also without the values of options and variables whose names tell that they are secret. */
export function redactText(text: string): string {
  return redactUrls(text.replace(SECRET_IN_COMMAND, `$1${REDACTED}`));
}

/** Whether the next word is the value of a secret option: `--password`. */
export function announcesSecret(word: string): boolean {
  return LONE_SECRET_OPTION.test(word);
}
