/** Keeps what the double stores in a file, so that a double that was killed begins again where it ended. */
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { StoredObject } from '../../../src/simulation/api/api-store.ts';
import type { Store } from './context.ts';

interface Entry {
  readonly resource: string;
  /** Undefined for one that is gone. */
  readonly after?: StoredObject;
  readonly gone?: { readonly name: string; readonly namespace?: string };
}

/** Replays the journal into the store, and writes all later changes. Returns the function that closes the file. */
export function keepJournal(store: Store, file: string): () => void {
  if (existsSync(file)) replay(store, readFileSync(file, 'utf8'));
  const descriptor = openSync(file, 'a', 0o600);
  const subscription = store.changes.subscribe(({ resource, before, after }) => {
    const { name = '', namespace } = before?.metadata ?? {};
    const entry: Entry =
      after === undefined
        ? { resource, gone: { name, ...(namespace !== undefined && { namespace }) } }
        : { resource, after };
    writeSync(descriptor, `${JSON.stringify(entry)}\n`);
  });
  return () => {
    subscription.unsubscribe();
    closeSync(descriptor);
  };
}

/** The store numbers the changes as it did then: their versions have no gaps. */
function replay(store: Store, text: string): void {
  // A last line without an end was not written as a whole.
  for (const line of text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)) {
    const { resource, after, gone } = JSON.parse(line) as Entry;
    const before = store.get(resource, gone ?? after?.metadata ?? { name: '' });
    if (after === undefined) {
      if (before !== undefined) store.remove(resource, before, undefined);
    } else if (before === undefined) store.add(resource, after, undefined, after.metadata.uid);
    else store.replace(resource, before, after, undefined);
  }
}
