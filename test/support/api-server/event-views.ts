/** Events as `events.k8s.io` has them: the same objects, of which some fields have other names. */
import type { Draft } from './context.ts';

const OWN_NAMES: Readonly<Record<string, string>> = {
  message: 'note',
  involvedObject: 'regarding',
  reportingComponent: 'reportingController',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
};
const STORED_NAMES = Object.fromEntries(Object.entries(OWN_NAMES).map(([stored, own]) => [own, stored]));

export const isEventView = ({ group }: { readonly group: string }): boolean => group === 'events.k8s.io';

/** A stored object as it is served in that group. */
export function viewed<T extends object>(object: T, type: { readonly group: string }): T {
  return isEventView(type) ? renamed(object, OWN_NAMES) : object;
}

/** An object of a client as it is stored. */
export function storedForm<T extends Draft>(object: T, type: { readonly group: string }): T {
  return isEventView(type) ? renamed(object, STORED_NAMES) : object;
}

function renamed<T extends object>(object: T, names: Readonly<Record<string, string>>): T {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [names[name] ?? name, value])) as T;
}

/** The selector with the names of stored fields. */
export function storedSelector(selector: string, type: { readonly group: string }): string {
  if (!isEventView(type)) return selector;
  return selector
    .split(',')
    .map((term) => term.replace(/^[^.!=]+/u, (name) => STORED_NAMES[name] ?? name))
    .join(',');
}
