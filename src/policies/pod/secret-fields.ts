/** Which fields of Kubernetes objects and of CRI messages may hold secrets. */

/** Fields that hold a secret or refer to one. */
const SECRET_FIELDS =
  /^(?:envFrom|imagePullSecrets|secret|secretRef|stringData|auths?|authorization)$|(?:password|token|credentials?|apiKey|privateKey)$/iu;
const PAIR_FIELDS: ReadonlySet<string> = new Set(['env', 'envs', 'httpHeaders']);
const COMMAND_FIELDS: ReadonlySet<string> = new Set(['command', 'args']);

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
