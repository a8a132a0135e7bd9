import type { VolumeFile } from '../../../../src/agent/policies/volumes/projected-files.ts';

/** The files with a mode, by their paths. */
export function payloadOf(files: Readonly<Record<string, string>>): ReadonlyMap<string, VolumeFile> {
  return new Map(
    Object.entries(files).map(([path, content]) => [path, { path, content, mode: 0o640, owner: 12 }]),
  );
}
