/** The folder of `--config-dir`: files `*.conf` that change what `--config` says. Loaded only where it is given. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { isJsonObject } from '../../policies/formats/canonical-json.ts';
import { DEFAULT_EVICTION_HARD } from '../../policies/eviction/thresholds.ts';
import { callAtStart } from '../../../system/files/patient-calls.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { type LoadedConfiguration, loadPatch } from '../load-configuration.ts';

export interface DropIns {
  /** The configuration as it is after each file, in the order in which the files were read. */
  readonly layers: readonly LoadedConfiguration[];
  /** Files that are no drop-ins, by their names. */
  readonly skipped: readonly string[];
}

const EXTENSION = '.conf';

/**
 * Reads the files in the order of their names, those of folders inside too, and merges one after the other into `base`. Rejects with
 * `InvalidArgument`; the message names file and field.
 */
export async function loadDropIns(folder: string, base: LoadedConfiguration | undefined): Promise<DropIns> {
  const files = await filesBelow(folder);
  const layers: LoadedConfiguration[] = [];
  let merged: object = base === undefined ? {} : withEvictionDefaults(base.configuration);
  for (const file of files.filter((path) => extensionOf(path) === EXTENSION)) {
    const { patch, warnings } = await loadPatch(file);
    merged = mergePatch(merged, patch);
    layers.push({ file, configuration: merged, warnings });
  }
  return { layers, skipped: files.filter((path) => extensionOf(path) !== EXTENSION) };
}

/** As Go has it: the whole name of `.conf` is its extension. */
function extensionOf(path: string): string {
  return path.endsWith(`/${EXTENSION}`) ? EXTENSION : extname(path);
}

/** As with the kubelet, thresholds of a drop-in are added to those of the file, also where these are the defaults. */
function withEvictionDefaults(configuration: KubeletConfiguration): object {
  return { evictionHard: DEFAULT_EVICTION_HARD, ...configuration };
}

/** A link to a file counts as one, and a link to a folder is an error, as its files would not be found. */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const files: string[] = [];
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...(await filesBelow(path)));
    else files.push(path);
  }
  return files;
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'no such folder; check the path given with --config-dir',
  ENOTDIR: 'is no folder; --config-dir takes a folder of files *.conf',
  EACCES: 'may not be read by this user',
};

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    const entries = await callAtStart(folder, () => readdir(folder, { withFileTypes: true }));
    return entries.sort((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
  } catch (error) {
    const words = READ_ERRORS[(error as NodeJS.ErrnoException).code ?? ''] ?? errorMessage(error);
    throw new StateletError('InvalidArgument', `${folder}: ${words}`);
  }
}

/**
 * JSON Merge Patch (RFC 7386): members of objects are merged, null removes one, and anything else, a list too, takes the place of what
 * was there.
 */
export function mergePatch(target: object, patch: object): object {
  const merged = new Map<string, unknown>(Object.entries(target));
  for (const [name, value] of Object.entries(patch) as [string, unknown][]) {
    if (value === null || value === undefined) merged.delete(name);
    else merged.set(name, isJsonObject(value) ? mergePatch(objectOf(merged.get(name)), value) : value);
  }
  return Object.fromEntries(merged);
}

function objectOf(value: unknown): object {
  return isJsonObject(value) ? value : {};
}
