import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordEntry } from '../../src/recorder/policies/record-reader.ts';
import { FlightRecorder } from '../../src/recorder/flight-recorder.ts';
import { RecordFiles } from '../../src/recorder/read-record.ts';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import type { ActorStep, TransitionKind } from '../../src/types/transition.ts';
import { waitFor } from '../support/wait-for.ts';
import { testContext } from '../support/test-context.ts';

const MIB = 2 ** 20;
const FACTS = { program: '1.2.3', pid: 77, node: 'node-a' };
const KIND: TransitionKind = {
  chart: 'pod',
  event: 'SyncPodSync',
  from: 'A',
  to: 'A',
  actions: ['startSync'],
};
const SNAPSHOT = { value: 'A', context: {} };
const STEP: ActorStep = { event: { type: KIND.event }, before: SNAPSHOT, after: SNAPSHOT };

let rootDir = '';
let warnings: string[] = [];
const clock = new VirtualClock();

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-record-'));
  warnings = [];
});
afterEach(() => rmSync(rootDir, { recursive: true, force: true }));

const folder = () => join(rootDir, 'record');
const segments = () => readdirSync(folder()).toSorted();
const sizeOfAll = () => segments().reduce((sum, name) => sum + statSync(join(folder(), name)).size, 0);

function recorder(sizeBytes = MIB): FlightRecorder {
  const nothing = () => undefined;
  const warn = (_: object | string, message?: string) => void warnings.push(message ?? '');
  const logger = { trace: nothing, debug: nothing, info: nothing, warn, error: nothing };
  return new FlightRecorder(testContext({ clock, logger }), FACTS, rootDir, sizeBytes);
}

async function entries(files = new RecordFiles(folder())): Promise<RecordEntry[]> {
  const found: RecordEntry[] = [];
  for await (const entry of files.read()) found.push(entry);
  return found;
}

async function actors(files?: RecordFiles): Promise<string[]> {
  return (await entries(files)).flatMap((entry) =>
    entry.type === 'transition' ? entry.transition.actor : [],
  );
}

/** Writes what it is given, in one batch. */
async function recorded(...names: string[]): Promise<void> {
  const own = recorder();
  for (const name of names) own.record(KIND, name, clock.now(), STEP);
  await own.close();
}

describe('the flight recorder', () => {
  test('writes to a folder and files that only their owner can read', async () => {
    mkdirSync(folder(), { mode: 0o755 });
    await recorded('web_default u');
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder(), '000001.jsonl')).mode & 0o777).toBe(0o600);
  });

  test('writes at once what a reader asks for', async () => {
    const own = recorder();
    for (const name of ['one_default u', 'two_default v']) {
      own.record(KIND, name, clock.now(), STEP);
      await Promise.all([own.flush(), own.flush()]);
      expect((await actors()).at(-1)).toBe(name);
    }
    await own.close();
  });

  test('writes some milliseconds after a transition, without being asked', async () => {
    const own = recorder();
    own.record(KIND, 'web_default u', clock.now(), STEP);
    await clock.advance(100);
    await waitFor(async () => (await actors().catch(() => [])).length === 1, { what: 'the transition' });
    own.record(KIND, 'later_default u', clock.now(), STEP);
    await waitFor(
      async () => {
        await clock.advance(100);
        return (await actors()).length === 2;
      },
      { what: 'the second transition' },
    );
    await own.close();
  });

  test('goes on in the last file after a death in the middle of a line', async () => {
    await recorded('before_default u');
    appendFileSync(join(folder(), '000001.jsonl'), '{"actor":2,"id":"to');
    await recorded('after_default u');
    expect(segments()).toEqual(['000001.jsonl']);
    expect(await actors()).toEqual(['before_default u', 'after_default u']);
  });

  test('is read past zeros, which a file system can leave after a loss of power', async () => {
    await recorded('before_default u');
    appendFileSync(join(folder(), '000001.jsonl'), Buffer.alloc(5000));
    await recorded('after_default u');
    expect(await actors()).toEqual(['before_default u', 'after_default u']);
  });

  test('keeps to its size, and keeps what is newest; each file can be read alone', async () => {
    const [rounds, perRound] = [60, 2_000];
    const own = recorder(MIB);
    let biggest = 0;
    const written = () =>
      existsSync(folder())
        ? segments()
            .map((name) => `${name} ${statSync(join(folder(), name)).size}`)
            .join()
        : '';
    for (let round = 0; round < rounds; round++) {
      for (let index = 0; index < perRound; index++)
        own.record(KIND, `web-${index % 100}_default u`, clock.now(), STEP);
      const before = written();
      const isWritten = async () => {
        // The batch before may still be under way: the next one begins its time when that is written.
        await clock.advance(100);
        return written() !== before;
      };
      await waitFor(isWritten, { what: 'the batch to be written' });
      biggest = Math.max(biggest, sizeOfAll());
    }
    own.record(KIND, 'last_default u', clock.now(), STEP);
    await own.close();
    expect(biggest).toBeLessThanOrEqual(MIB);
    expect(sizeOfAll()).toBeGreaterThan(MIB / 2);
    expect(segments()).not.toContain('000001.jsonl');
    expect((await actors()).at(-1)).toBe('last_default u');
    const [, oldest = '', ...others] = segments();
    for (const name of others) rmSync(join(folder(), name));
    rmSync(join(folder(), segments()[0] ?? ''));
    expect(segments()).toEqual([oldest]);
    const alone = await entries();
    expect(alone[0]).toMatchObject({ type: 'began', ...FACTS });
    expect(alone.length).toBeGreaterThan(1_000);
  });

  test('says once that it cannot write, goes on when it can, and says how many transitions are missing', async () => {
    writeFileSync(folder(), 'a file where the folder should be');
    const own = recorder();
    own.record(KIND, 'lost_default u', clock.now(), STEP);
    await clock.advance(100);
    await waitFor(() => warnings.length > 0, { what: 'a warning' });
    own.record(KIND, 'lost_default u', clock.now(), STEP);
    await clock.advance(10_000);
    await waitFor(() => clock.armed > 0, { what: 'the next try to have failed' });
    expect(warnings).toEqual([expect.stringMatching(/cannot write to .*record, and goes on when it can: /u)]);
    rmSync(folder());
    await waitFor(
      async () => {
        await clock.advance(10_000);
        own.record(KIND, 'kept_default u', clock.now(), STEP);
        return (await actors().catch(() => [])).length > 0;
      },
      { what: 'the record to go on', pauseMs: 50 },
    );
    await own.close();
    const found = await entries();
    expect(new Set(await actors())).toEqual(new Set(['kept_default u']));
    const lost = found.filter((entry) => entry.type === 'lost');
    expect(lost).toHaveLength(1);
    expect(lost[0]?.count).toBeGreaterThanOrEqual(2);
    expect(warnings).toHaveLength(1);
  });

  test('does not follow a link', async () => {
    mkdirSync(folder());
    const target = join(rootDir, 'target');
    writeFileSync(target, '');
    symlinkSync(target, join(folder(), '000001.jsonl'));
    await recorded('web_default u');
    expect(readFileSync(target, 'utf8')).toBe('');
    expect(warnings).toHaveLength(1);
  });
});

describe('a reader of the record', () => {
  test('gets what was written since it last read, also in the middle of a line and from the next file', async () => {
    await recorded('one_default u');
    const files = new RecordFiles(folder());
    expect(await actors(files)).toEqual(['one_default u']);
    expect(await entries(files)).toEqual([]);
    await recorded('two_default u');
    const path = join(folder(), '000001.jsonl');
    const text = readFileSync(path, 'utf8');
    const half = text.length - 4;
    writeFileSync(path, text.slice(0, half));
    expect(await actors(files)).toEqual([]);
    appendFileSync(path, text.slice(half));
    expect(await actors(files)).toEqual(['two_default u']);
    writeFileSync(join(folder(), '000002.jsonl'), text.replaceAll('two_', 'three_'));
    expect(await actors(files)).toEqual(['one_default u', 'three_default u']);
  });

  test('leaves out files that are older than asked', async () => {
    await recorded('old_default u');
    const wanted = new RecordFiles(folder(), { sinceMs: Date.now() + 60_000 });
    expect(await entries(wanted)).toEqual([]);
  });
});
