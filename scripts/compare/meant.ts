/** The list of differences that are meant, each with a reason. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Difference } from './differences.ts';

/** An entry of the list. All given fields must match. `*` matches anything within a part of a path, `**` any parts. */
export interface MeantDifference {
  readonly area: string;
  readonly path: string;
  readonly manifest?: string;
  /** The value in JSON; '' if there must be none. */
  readonly kubelet?: string;
  readonly statelet?: string;
  readonly reason: string;
}

export interface Judged {
  readonly unexpected: readonly Difference[];
  readonly meant: readonly { readonly entry: MeantDifference; readonly differences: readonly Difference[] }[];
  /** Entries that match nothing: their difference is gone. */
  readonly idle: readonly MeantDifference[];
}

/** Each difference belongs to the first entry that matches. */
export function judge(found: readonly Difference[], entries: readonly MeantDifference[]): Judged {
  const byEntry = new Map<MeantDifference | undefined, Difference[]>();
  for (const difference of found) {
    const entry = entries.find((candidate) => matches(candidate, difference));
    byEntry.set(entry, [...(byEntry.get(entry) ?? []), difference]);
  }
  return {
    unexpected: byEntry.get(undefined) ?? [],
    meant: entries.flatMap((entry) => {
      const differences = byEntry.get(entry);
      return differences === undefined ? [] : [{ entry, differences }];
    }),
    idle: entries.filter((entry) => !byEntry.has(entry)),
  };
}

/** Whether the entry counts for one of these manifests. */
export function concerns({ manifest = '*' }: MeantDifference, manifests: readonly string[]): boolean {
  return manifests.some((name) => glob(manifest, name));
}

export function matches(entry: MeantDifference, difference: Difference): boolean {
  const { manifest = '*', kubelet = '**', statelet = '**' } = entry;
  return (
    glob(entry.area, difference.area) &&
    glob(entry.path, difference.path) &&
    glob(manifest, difference.manifest) &&
    glob(kubelet, difference.kubelet ?? '') &&
    glob(statelet, difference.statelet ?? '')
  );
}

function glob(pattern: string, text: string): boolean {
  const source = pattern.split(/(\*\*|\*)/).map((part) => {
    if (part === '**') return '.*';
    return part === '*' ? '[^/]*' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${source.join('')}$`, 's').test(text);
}

const FIELDS = ['area', 'path', 'manifest', 'kubelet', 'statelet', 'reason'];
const REQUIRED = ['area', 'path', 'reason'];

/** Throws an error that names the file and the entry. */
export function readMeant(file: string): readonly MeantDifference[] {
  const entries: unknown = parse(readFileSync(file, 'utf8'));
  if (!Array.isArray(entries)) throw new Error(`${file}: must be a list of entries`);
  return entries.map((entry: unknown, index) => checked(entry, `${file}: entry ${index + 1}`));
}

function checked(entry: unknown, where: string): MeantDifference {
  if (typeof entry !== 'object' || entry === null) throw new Error(`${where} must be a map`);
  const fields = entry as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) {
    if (!FIELDS.includes(name))
      throw new Error(`${where} has a field "${name}"; known are ${FIELDS.join(', ')}`);
    if (typeof value !== 'string') throw new Error(`${where}: ${name} must be a string`);
  }
  const missing = REQUIRED.filter((name) => fields[name] === undefined);
  if (missing.length > 0) throw new Error(`${where} has no ${missing.join(', ')}`);
  return entry as MeantDifference;
}
