/** Which labels, annotations, finalizers and keys of data an object may have. */
import type { Draft } from './context.ts';
import { labelKeyFlaw, labelValueFlaw } from './label-selectors.ts';
import type { ServedType } from './served-types.ts';
import { type Cause } from './status-error.ts';

const STANDARD_FINALIZERS = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);
const DATA_KEY = /^[-._a-zA-Z0-9]+$/u;
const DATA_KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

export function* metadataCauses({ labels = {}, annotations = {}, finalizers = [] }: Draft): Generator<Cause> {
  const refused = (field: string, value: string, flaw: string): Cause => ({
    field,
    message: `Invalid value: ${JSON.stringify(value)}: ${flaw}`,
  });
  for (const [key, value] of Object.entries(labels as Record<string, string>)) {
    const [keyFlaw, valueFlaw] = [labelKeyFlaw(key), labelValueFlaw(value)];
    if (keyFlaw !== undefined) yield refused('metadata.labels', key, keyFlaw);
    if (valueFlaw !== undefined) yield refused('metadata.labels', value, valueFlaw);
  }
  for (const key of Object.keys(annotations as object)) {
    const flaw = labelKeyFlaw(key.toLowerCase());
    if (flaw !== undefined) yield refused('metadata.annotations', key, flaw);
  }
  for (const [index, name] of (finalizers as string[]).entries()) {
    const flaw = labelKeyFlaw(name);
    if (flaw !== undefined) yield refused('metadata.finalizers', name, flaw);
    else if (!name.includes('/') && !STANDARD_FINALIZERS.has(name))
      yield refused(
        `metadata.finalizers[${index}]`,
        name,
        'name is neither a standard finalizer name nor is it fully qualified',
      );
  }
}

export function* dataCauses({ plural, group }: ServedType, object: Draft): Generator<Cause> {
  if (group !== '' || (plural !== 'configmaps' && plural !== 'secrets')) return;
  for (const member of ['data', 'binaryData'])
    for (const key of Object.keys((object[member] ?? {}) as object))
      if (!DATA_KEY.test(key))
        yield {
          field: `${member}[${key}]`,
          message: `Invalid value: ${JSON.stringify(key)}: ${DATA_KEY_RULE}`,
        };
}
