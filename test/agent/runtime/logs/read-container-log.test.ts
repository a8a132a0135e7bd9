import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogViewOptions } from '../../../../src/agent/policies/logs/log-view.ts';
import { type LogReading, readContainerLog } from '../../../../src/agent/runtime/logs/read-container-log.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { isWatched, openFiles } from '../../../support/held-open.ts';
import { waitFor } from '../../../support/wait-for.ts';

const ALL: LogViewOptions = {
  follow: false,
  timestamps: false,
  since: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stream: 'All',
};

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-log-'));
  path = join(dir, '0.log');
  writeFileSync(path, '');
});
afterEach(() => rmSync(dir, { recursive: true }));

const line = (text: string) => `2030-01-01T00:00:00Z stdout F ${text}\n`;
const say = (...texts: readonly string[]) => appendFileSync(path, texts.map(line).join(''));

/** A client that reads the log. */
class Client {
  readonly gone = new AbortController();
  output = '';
  isRunning = true;
  /** What holds the client up. */
  held: Promise<void> | undefined;
  readonly done: Promise<void>;

  constructor(options: Partial<LogViewOptions> = {}, more: Partial<LogReading> = {}) {
    const write = async (output: Buffer) => {
      this.output += output.toString();
      await this.held;
    };
    const isRunning = () => this.isRunning;
    const signal = this.gone.signal;
    const reading = {
      path,
      options: { ...ALL, ...options },
      isRunning,
      write,
      clock: systemClock,
      signal,
      ...more,
    };
    this.done = readContainerLog(reading);
    this.done.catch(() => undefined);
  }

  async sees(output: string): Promise<void> {
    await waitFor(() => this.output === output, { what: `${JSON.stringify(output)} after ${this.output}` });
  }
}

/** What is open in the folder of the log, and whether the folder is watched. */
const held = () => [
  ...openFiles().filter((file) => file.startsWith(dir)),
  ...(isWatched(dir) ? ['a watch'] : []),
];

describe('a log that is not followed', () => {
  test('is read to its end, with its last line although it has no newline', async () => {
    say('a', 'b');
    appendFileSync(path, line('c').trimEnd());
    const client = new Client();
    await client.done;
    expect(client.output).toBe('a\nb\nc');
    expect(held()).toEqual([]);
  });

  test('is read through symbolic links', async () => {
    say('a');
    const link = join(dir, 'link.log');
    symlinkSync(path, link);
    const client = new Client({}, { path: link });
    await client.done;
    expect(client.output).toBe('a\n');
  });

  test('is read from its last rotated file while nothing is at its path', async () => {
    say('older');
    renameSync(path, `${path}.20300101-000000`);
    writeFileSync(`${path}.20300101-000001`, line('rotated just now'));
    writeFileSync(`${path}.20300101-000002.gz`, 'compressed');
    const link = join(dir, 'folder');
    symlinkSync(dir, link);
    for (const logPath of [path, join(link, '0.log')]) {
      const client = new Client({}, { path: logPath });
      await client.done;
      expect(client.output).toBe('rotated just now\n');
    }
    rmSync(link);
  });

  test('may be larger than all buffers, and shows the same lines from its end', async () => {
    const texts = Array.from({ length: 20_000 }, (_, index) => `${index} ${'x'.repeat(index % 90)}`);
    say(...texts);
    const whole = new Client();
    await whole.done;
    expect(whole.output).toBe(`${texts.join('\n')}\n`);
    const end = new Client({ tailLines: 7000 });
    await end.done;
    expect(end.output).toBe(`${texts.slice(-7000).join('\n')}\n`);
  });

  test('is read no further than the limit', async () => {
    say('abc', 'def');
    const client = new Client({ limitBytes: 5, follow: true });
    await client.done;
    expect(client.output).toBe('abc\nd');
  });

  test('rejects in the words of the kubelet', async () => {
    const missing = join(dir, 'no', 'such.log');
    await expect(new Client({}, { path: missing }).done).rejects.toThrow(
      `failed to try resolving symlinks in path "${missing}": lstat ${join(dir, 'no')}: no such file or directory`,
    );
    await expect(new Client({}, { path: dir }).done).rejects.toThrow(
      `failed to read log file "${dir}": read ${dir}: is a directory`,
    );
    writeFileSync(path, 'no log\n');
    await expect(new Client().done).rejects.toThrow(
      'failed to get parse function: unsupported log format: "no log\\n"',
    );
    expect(held()).toEqual([]);
  });

  test('returns the lines that were read before the error', async () => {
    writeFileSync(path, '{"log":"a\\n","stream":"stdout"}\n{}\n');
    const client = new Client();
    await expect(client.done).rejects.toThrow('unexpected stream type ""');
    expect(client.output).toBe('a\n');
  });
});

describe('a log that is followed', () => {
  test('is read as it is written, until the container has ended', async () => {
    say('a');
    const client = new Client({ follow: true });
    await client.sees('a\n');
    say('b');
    await client.sees('a\nb\n');
    client.isRunning = false;
    say('c');
    await client.done;
    expect(client.output).toBe('a\nb\nc\n');
    expect(held()).toEqual([]);
  });

  test('of a container that has ended is read to its end', async () => {
    say('a');
    const client = new Client({ follow: true });
    client.isRunning = false;
    await client.done;
    expect(client.output).toBe('a\n');
  });

  test('begins with its last lines', async () => {
    say('a', 'b', 'c');
    const client = new Client({ follow: true, tailLines: 1 });
    await client.sees('c\n');
    say('d', 'e');
    await client.sees('c\nd\ne\n');
    client.gone.abort();
  });

  test('shows a line when it is whole', async () => {
    const client = new Client({ follow: true });
    appendFileSync(path, line('slow').slice(0, 25));
    appendFileSync(path, line('slow').slice(25));
    await client.sees('slow\n');
    client.gone.abort();
  });

  test('goes on in the new file after a rotation, and loses no line', async () => {
    const client = new Client({ follow: true });
    say('a');
    await client.sees('a\n');
    renameSync(path, `${path}.old`);
    // The runtime has not opened the new file yet.
    appendFileSync(`${path}.old`, line('b'));
    await client.sees('a\nb\n');
    writeFileSync(path, '');
    appendFileSync(`${path}.old`, line('c'));
    await client.sees('a\nb\nc\n');
    say('d');
    await client.sees('a\nb\nc\nd\n');
    expect(held()).toEqual([path, 'a watch']);
    client.isRunning = false;
    await client.done;
    expect(held()).toEqual([]);
  });

  test('is followed into the new file where the reading began between the two', async () => {
    say('a');
    renameSync(path, `${path}.20300101-000000`);
    const client = new Client({ follow: true });
    await client.sees('a\n');
    writeFileSync(path, line('b'));
    await client.sees('a\nb\n');
    client.isRunning = false;
    await client.done;
    expect(held()).toEqual([]);
  });

  test('is followed in the same file where the rotation has failed', async () => {
    say('a');
    renameSync(path, `${path}.20300101-000000`);
    const client = new Client({ follow: true });
    await client.sees('a\n');
    renameSync(`${path}.20300101-000000`, path);
    say('b');
    await client.sees('a\nb\n');
    client.gone.abort();
  });

  test('ends with the new file where the container ended after a rotation', async () => {
    const client = new Client({ follow: true });
    say('a');
    await client.sees('a\n');
    renameSync(path, `${path}.old`);
    client.isRunning = false;
    writeFileSync(path, '');
    await client.done;
    expect(client.output).toBe('a\n');
  });

  test('begins anew where the file was emptied', async () => {
    const client = new Client({ follow: true });
    say('a');
    await client.sees('a\n');
    truncateSync(path);
    say('');
    await client.sees('a\n\n');
    client.gone.abort();
  });

  test('stays open while its file is gone', async () => {
    const client = new Client({ follow: true });
    say('a');
    await client.sees('a\n');
    rmSync(path);
    writeFileSync(path, line('b'));
    await client.sees('a\nb\n');
    client.gone.abort();
  });

  test('is no longer read when the client has gone', async () => {
    say('a');
    const client = new Client({ follow: true });
    await client.sees('a\n');
    client.gone.abort();
    await expect(client.done).rejects.toThrow('aborted');
    expect(held()).toEqual([]);
  });
});

test('nothing is read while the client reads nothing', async () => {
  const texts = Array.from({ length: 20_000 }, (_, index) => `${index} ${'x'.repeat(50)}`);
  say(...texts);
  const release = Promise.withResolvers<undefined>();
  const client = new Client();
  client.held = release.promise;
  await waitFor(() => client.output !== '', { what: 'the first output' });
  const { output } = client;
  const other = new Client();
  await other.done;
  expect(client.output).toBe(output);
  release.resolve(undefined);
  await client.done;
  expect(client.output).toBe(other.output);
});

test('a pipe in place of a log blocks nothing, and is an error', async () => {
  rmSync(path);
  execFileSync('mkfifo', [path]);
  await expect(new Client().done).rejects.toThrow('is not a file');
});
