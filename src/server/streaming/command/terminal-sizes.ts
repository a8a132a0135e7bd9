/** Sizes of the client's terminal, as it sends them: JSON objects one after the other, with or without line ends between them. */
import type { Readable } from 'node:stream';
import type { TerminalSize } from '../../../runtime/service/streaming-runtime.ts';

/** Such an object has about 30 bytes. */
const OBJECT_BYTES_MAX = 1024;
const SIZE_MAX = 65_535;

/** Ends at the first text that is no size, and passes over what follows it. */
export function onTerminalSizes(source: Readable, take: (size: TerminalSize) => void): void {
  let text = '';
  let isBroken = false;
  source.on('data', (chunk: Buffer) => {
    if (isBroken) return;
    text += chunk.toString('latin1');
    for (let end = text.indexOf('}'); end >= 0 && !isBroken; end = text.indexOf('}')) {
      const size = sizeOf(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size) take(size);
      else isBroken = true;
    }
    isBroken ||= text.length > OBJECT_BYTES_MAX;
    if (isBroken) text = '';
  });
}

function sizeOf(json: string): TerminalSize | undefined {
  try {
    const values = new Map(Object.entries(JSON.parse(json) as Record<string, unknown>));
    const valueOf = (name: string) => values.get(name) ?? values.get(name.toLowerCase()) ?? 0;
    const [width, height] = [valueOf('Width'), valueOf('Height')];
    return isSize(width) && isSize(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= SIZE_MAX;
