/** Of several that claim one name, the one that had it first keeps it, or else the one that comes first in the list. */

interface NameClaim<Holder, Value> {
  /** The place that it comes from, such as a file. */
  readonly holder: Holder;
  readonly value: Value;
}

interface Refused<Holder, Value> extends NameClaim<Holder, Value> {
  /** The name that another one has, and where that comes from. */
  readonly key: string;
  readonly of: Holder;
}

export interface FirstCome<Holder, Value> {
  /** In the order of the list. */
  readonly kept: readonly Value[];
  readonly refused: readonly Refused<Holder, Value>[];
  /** Which place has a name: `before` the next time. */
  readonly holders: ReadonlyMap<string, Holder>;
}

/**
 * `keysOf`: the names of a value, of which no other may have one. The first of them says who had it before. `mayRepeat`: a place itself reports
 * those of its values that have the same name.
 */
export function firstCome<Holder, Value>(
  claims: readonly NameClaim<Holder, Value>[],
  keysOf: (value: Value) => readonly [string, ...string[]],
  before: ReadonlyMap<string, Holder>,
  { mayRepeat = false } = {},
): FirstCome<Holder, Value> {
  const heldBefore = ({ holder, value }: NameClaim<Holder, Value>) => before.get(keysOf(value)[0]) === holder;
  const holders = new Map<string, Holder>();
  const refused = new Map<NameClaim<Holder, Value>, Refused<Holder, Value>>();
  for (const claim of [...claims.filter(heldBefore), ...claims.filter((one) => !heldBefore(one))]) {
    const keys = keysOf(claim.value);
    const isOfAnother = (one: string) =>
      holders.has(one) && !(mayRepeat && holders.get(one) === claim.holder);
    const key = keys.find(isOfAnother);
    if (key === undefined) for (const own of keys) holders.set(own, claim.holder);
    else refused.set(claim, { ...claim, key, of: holders.get(key) as Holder });
  }
  const kept = claims.filter((claim) => !refused.has(claim)).map(({ value }) => value);
  return { kept, refused: [...refused.values()], holders };
}

interface LeftOut {
  /** `pod`, `ConfigMap`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Where it is. */
  readonly file: string;
}

/** The problem of one whose name another one has, which is in `of`. */
export function nameIsTaken({ kind, namespace, name, file }: LeftOut, of: string) {
  const what = `"${name}" in namespace "${namespace}"`;
  return {
    file,
    field: 'metadata.name',
    message: isTaken(what, kind, { file, of }),
    leavesOut: true,
  } as const;
}

/** `what`: a name or a UID. */
export function isTaken(
  what: string,
  kind: string,
  { file, of }: { readonly file: string; readonly of: string },
): string {
  const holder = of === file ? `another ${kind} of this file` : `a ${kind} in ${of}`;
  return `${what} is that of ${holder}: this ${kind} is left out`;
}
