import {
  LogView,
  type LogViewOptions,
  TailStart,
  unresolvedLog,
} from '../../src/agent/policies/logs/log-view.ts';
import { LogPieces } from '../../src/agent/policies/logs/log-message.ts';
import { parseGoTime } from '../../src/agent/policies/formats/time.ts';
import { logViewOptions, type PodLogOptions } from '../../src/agent/policies/server/log-options.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Input {
  readonly log?: string;
  readonly logBase64?: string;
  readonly missing?: boolean;
  readonly options: Omit<PodLogOptions, 'sinceTime'> & { readonly sinceTime?: string };
  /** Unix seconds. */
  readonly now: number;
}

const PATH = '/LOG/0.log';

export const adapter: VectorAdapter = {
  adapt({ log = '', logBase64, missing = false, options: { sinceTime, ...options }, now }: Input) {
    const file = logBase64 === undefined ? Buffer.from(log) : Buffer.from(logBase64, 'base64');
    const since = sinceTime === undefined ? {} : { sinceTime: parseGoTime(sinceTime) };
    const shown = show(file, logViewOptions({ ...options, ...since }, now * 1000));
    const reason = 'no such file or directory';
    const missingFile = unresolvedLog(PATH, { call: 'lstat', path: PATH, reason });
    return {
      error: missing ? missingFile : (shown.problem ?? null),
      ...member('stdout', shown.stdout),
      ...member('stderr', shown.stderr),
      ...member('combined', shown.combined),
    };
  },
};

function show(file: Buffer, options: LogViewOptions) {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[], combined: [] as Buffer[] };
  const view = new LogView(options, (text, stream) => {
    const copy = Buffer.from(text, 'latin1');
    output.combined.push(copy);
    output[stream as 'stdout' | 'stderr'].push(copy);
  });
  const pieces = new LogPieces();
  const { tailLines } = options;
  const start = tailLines === undefined ? 0 : (new TailStart(tailLines).find(file) ?? 0);
  const readings = [pieces.push(file.toString('latin1', start)), pieces.end()];
  for (const reading of readings) {
    for (const piece of reading) view.take(piece);
  }
  return { ...output, problem: view.problem };
}

/** Text where it is UTF-8, else `NAMEBase64`. */
function member(name: string, parts: readonly Buffer[]): Record<string, string> {
  const bytes = Buffer.concat(parts);
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? { [name]: text } : { [`${name}Base64`]: bytes.toString('base64') };
}
