import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { containerOf, processTable } from '../../../src/embedded/containers/proc.ts';
import { Connections } from '../../support/connections.ts';
import { openBelow } from '../../support/held-open.ts';
import { isRunning } from '../../support/process-runtime.ts';
import { containerConfig } from '../../support/runtime-configs.ts';
import { collect, streamBed, type StreamBed, textOf } from '../../support/stream-bed.ts';
import { waitFor } from '../../support/wait-for.ts';

const SLEEP = containerConfig(['sleep', '1000']);
const LOTS_BYTES = 300_000_000;
/** More than pipe and stream hold together. */
const HELD_BYTES = 2_000_000;

let bed: StreamBed;
let id: string;
beforeAll(() => {
  bed = streamBed();
});
beforeEach(async () => {
  ({ id } = await bed.start(SLEEP));
});
afterAll(() => bed.cleanup());

const processesOf = (containerId: string): number[] =>
  processTable()
    .map(({ pid }) => pid)
    .filter((pid) => containerOf(pid) === containerId);

describe('the input of a command', () => {
  test('ends when the client ends it, after all that was written', async () => {
    const streams = await bed.exec(id, 'wc -c; echo end', { stdin: true });
    const output = textOf(streams.stdout);
    streams.stdin?.write(Buffer.alloc(1_000_000));
    streams.stdin?.end(Buffer.alloc(234));
    expect(await output).toBe('1000234\nend\n');
    expect(await streams.exit).toBe(0);
  });

  test('is empty if the client has none', async () => {
    const streams = await bed.exec(id, 'cat; echo end');
    expect(await textOf(streams.stdout)).toBe('end\n');
    expect(streams.stdin).toBeUndefined();
  });

  test('makes the client wait while the command does not read', async () => {
    const streams = await bed.exec(id, 'read go; wc -c', { stdin: true });
    const output = textOf(streams.stdout);
    const chunk = Buffer.alloc(65_536);
    let written = 0;
    while (streams.stdin?.write(chunk)) written += chunk.length;
    expect(written).toBeLessThan(HELD_BYTES);
    streams.stdin?.end('\nrest');
    expect(await output).toBe('4\n');
  });

  test('is dropped after the command has closed it: that is no error', async () => {
    const streams = await bed.exec(id, 'exec <&-; echo closed; sleep 0.2; exit 3', { stdin: true });
    await once(streams.stdout ?? process, 'data');
    for (let count = 0; count < 10; count += 1) streams.stdin?.write(Buffer.alloc(100_000));
    expect(await streams.exit).toBe(3);
  });
});

describe('the output of a command', () => {
  test('arrives whole, and each stream on its own', async () => {
    const streams = await bed.exec(id, `head -c ${LOTS_BYTES} /dev/zero; echo err >&2`);
    let bytes = 0;
    streams.stdout?.on('data', (chunk: Buffer) => (bytes += chunk.length));
    const errors = textOf(streams.stderr);
    expect(await streams.exit).toBe(0);
    expect([bytes, await errors]).toEqual([LOTS_BYTES, 'err\n']);
  });

  test('makes the command wait while the client does not read', async () => {
    const script = 'i=0; while [ $i -lt 300 ]; do head -c 65536 /dev/zero; i=$((i+1)); echo $i >&2; done';
    const streams = await bed.exec(id, script);
    const errors = collect(streams.stderr);
    await waitFor(() => errors.text.includes('1\n'), { what: 'the first part' });
    const isStill = async () => {
      const before = errors.text;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return before === errors.text;
    };
    await waitFor(isStill, { what: 'the command to wait' });
    expect(errors.text.split('\n').length * 65_536).toBeLessThan(HELD_BYTES);
    streams.stdout?.resume();
    expect(await streams.exit).toBe(0);
    expect(errors.text).toContain('300\n');
  });

  test('is not lost if the client reads it long after the command has ended', async () => {
    const streams = await bed.exec(id, 'head -c 60000 /dev/zero');
    await waitFor(() => processesOf(id).length === 1, { what: 'the end of the command' });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await textOf(streams.stdout)).toHaveLength(60_000);
    expect(await streams.exit).toBe(0);
  });

  test('has ended although a process that the command has left holds it open', async () => {
    const streams = await bed.exec(id, 'sleep 1000 & echo text; exit 4');
    const output = textOf(streams.stdout);
    expect(await streams.exit).toBe(4);
    expect(await output).toBe('text\n');
  });

  test('is dropped if the client wants none', async () => {
    const streams = await bed.exec(id, 'echo out; echo err >&2; exit 9', {
      stdout: false,
      stderr: false,
      stdin: true,
    });
    expect([streams.stdout, streams.stderr]).toEqual([undefined, undefined]);
    expect(await streams.exit).toBe(9);
  });
});

describe('a client that', () => {
  test('asks for no stream gets an error', async () => {
    await expect(bed.exec(id, 'true', { stdout: false, stderr: false })).rejects.toMatchObject({
      kind: 'InvalidArgument',
    });
  });

  test.each([false, true])('disappears ends the command and its children (tty: %j)', async (tty) => {
    const streams = await bed.exec(id, 'sleep 1000 & echo $!; sleep 1000', { tty, stdin: true });
    const [line] = (await once(streams.stdout ?? process, 'data')) as [Buffer];
    streams.abandon();
    await expect(streams.exit).rejects.toMatchObject({ kind: 'Canceled' });
    await waitFor(() => processesOf(id).length === 1, { what: 'the end of the processes of the command' });
    await waitFor(() => !isRunning(Number(line.toString())), { what: 'the end of its child' });
  });

  test('loses the monitor gets an error', async () => {
    const other = streamBed();
    const pod = await other.start(SLEEP);
    const streams = await other.exec(pod.id, 'sleep 1000');
    await other.runtime.close();
    await expect(streams.exit).rejects.toMatchObject({ kind: 'Unavailable' });
    await other.cleanup();
  });
});

test('500 commands, a third of them abandoned, leave no process, descriptor or file behind', async () => {
  const run = async (number: number): Promise<void> => {
    const streams = await bed.exec(id, number % 5 === 0 ? 'sleep 1000' : ['true'], {
      stdin: true,
      tty: number % 7 === 0,
    });
    streams.stdout?.resume();
    streams.stderr?.resume();
    if (number % 3 === 0 || number % 5 === 0) streams.abandon();
    else streams.stdin?.end();
    await streams.exit.catch(() => undefined);
  };
  for (let number = 1; number <= 10; number += 1) await run(number);
  const connections = new Connections();
  const atRest = async () => processesOf(id).length === 1 && (await bed.monitorDescriptors());
  const monitorBefore = await waitFor(atRest, { what: 'the first commands to end' });
  for (let number = 0; number < 500; number += 10) {
    await connections.of(() => Promise.all(Array.from({ length: 10 }, (_, index) => run(number + index))));
  }
  await waitFor(atRest, { what: 'the last commands to end' });
  const isAsBefore = async () =>
    openBelow(bed.rootDir) === 0 &&
    connections.open === 0 &&
    (await bed.monitorDescriptors()) <= monitorBefore;
  await waitFor(isAsBefore, { what: `no own descriptors, ${monitorBefore} of the monitor` });
  expect(readdirSync(join(bed.rootDir, 'runtime', 'streams'))).toEqual([]);
});
