import { createHash } from 'node:crypto';
import type { VolumeFile } from '../../policies/volumes/projected-files.ts';

/** What this agent has written into a volume, without the contents: those may be secret. */
export interface WrittenFiles {
  readonly digest: string;
  /** The folder that has the files. */
  readonly version: string;
}

/** An object may have ten thousand small keys: they are hashed together. */
const CHUNK = 65_536;

/** Equal for files of equal paths and contents. As with the kubelet, modes do not count: files are not written again for a mode. */
export function digestOf(payload: ReadonlyMap<string, VolumeFile>): string {
  const hash = createHash('sha256');
  let text = '';
  const flush = () => {
    hash.update(text);
    text = '';
  };
  for (const [path, { content }] of payload) {
    text += `${path}\0${content.length}\0`;
    if (typeof content === 'string') text += content;
    else {
      flush();
      hash.update(content);
    }
    if (text.length > CHUNK) flush();
  }
  flush();
  return hash.digest('base64');
}
