import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { StreamDesk } from '../../../../src/runtime/process/streams/stream-desk.ts';
import type { StreamsRequest } from '../../../../src/runtime/process/monitor/protocol.ts';
import { openBelow } from '../../../support/held-open.ts';
import { type EngineBed, engineBed } from '../../../support/process-engine.ts';
import { shell } from '../../../support/runtime-configs.ts';

const NEVER = new AbortController().signal;
const LS: StreamsRequest = { command: ['ls'], stdin: true, stdout: true, stderr: true, tty: false };
const ATTACH: StreamsRequest = { stdin: true, stdout: true, stderr: true, tty: false };

let bed: EngineBed;
let desk: StreamDesk;
let id: string;
const openDesk = () => new StreamDesk(bed.layout, (containerId) => bed.engine.container(containerId));
const folders = () => readdirSync(bed.layout.streamsDir);

beforeEach(async () => {
  bed = engineBed();
  desk = openDesk();
  ({ id } = await bed.create(shell('sleep 1000', { stdin: true })));
  await bed.engine.startContainer(id);
});
afterEach(async () => {
  jest.useRealTimers();
  await bed.cleanup();
});

describe('streams that are opened', () => {
  test('have the pipes that were asked for', async () => {
    const both = await desk.open(id, LS);
    expect(readdirSync(join(bed.layout.streamsDir, both.id)).sort()).toEqual(['stderr', 'stdin', 'stdout']);
    expect(both.stdin).toBe(bed.layout.streamPipe(both.id, 'stdin'));
    const output = await desk.open(id, { ...LS, stdin: false, stderr: false });
    expect(readdirSync(join(bed.layout.streamsDir, output.id))).toEqual(['stdout']);
    expect(output.stdin).toBeUndefined();
  });

  test('of an attached client lead to the input of the container', async () => {
    const { id: streams, stdin } = await desk.open(id, ATTACH);
    expect(stdin).toBe(bed.layout.pipe(id, 'stdin'));
    expect(readdirSync(join(bed.layout.streamsDir, streams)).sort()).toEqual(['stderr', 'stdout']);
  });

  test('are closed and removed when no client runs them in time', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
    const opened = [await desk.open(id, LS), await desk.open(id, ATTACH)];
    expect(folders()).toHaveLength(2);
    expect(openBelow(bed.layout.streamsDir)).toBeGreaterThan(0);
    jest.advanceTimersByTime(30_000);
    jest.useRealTimers();
    expect(folders()).toEqual([]);
    for (const streams of opened) {
      await expect(desk.run(streams.id, NEVER)).rejects.toMatchObject({ kind: 'NotFound' });
    }
    expect(openBelow(bed.layout.streamsDir)).toBe(0);
  });

  test('run once, and leave no file', async () => {
    const { id: streams } = await desk.open(id, { ...LS, stdin: false });
    expect(await desk.run(streams, NEVER)).toBe(0);
    expect(folders()).toEqual([]);
    await expect(desk.run(streams, NEVER)).rejects.toMatchObject({ kind: 'NotFound' });
  });

  test('of an earlier monitor are removed', () => {
    mkdirSync(join(bed.layout.streamsDir, 'old'));
    openDesk();
    expect(folders()).toEqual([]);
  });
});

test('a container that is unknown or does not run has no streams', async () => {
  await expect(desk.open('unknown', LS)).rejects.toMatchObject({ kind: 'NotFound' });
  await bed.engine.stopContainer(id, 0);
  for (const request of [LS, ATTACH]) {
    await expect(desk.open(id, request)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
  }
  expect(folders()).toEqual([]);
});

test('a container that has ended meanwhile runs no command', async () => {
  const { id: streams } = await desk.open(id, LS);
  await bed.engine.stopContainer(id, 0);
  await expect(desk.run(streams, NEVER)).rejects.toMatchObject({ kind: 'FailedPrecondition' });
});

test('a client that gave up before it runs gets Canceled, and the command does not stay', async () => {
  const { id: streams } = await desk.open(id, { ...LS, command: ['sh', '-c', 'sleep 1; touch done'] });
  await expect(desk.run(streams, AbortSignal.abort())).rejects.toMatchObject({ kind: 'Canceled' });
  expect(existsSync(join(bed.layout.rootDir, 'done'))).toBe(false);
});

test('the size and the end of input of unknown streams are ignored', async () => {
  await desk.resize('unknown', { width: 1, height: 1 });
  desk.endInput('unknown');
  expect(folders()).toEqual([]);
});
