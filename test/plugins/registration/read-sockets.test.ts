import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readSockets } from '../../../src/plugins/registration/read-sockets.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { PatientCalls } from '../../../src/system/files/patient-calls.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-sockets-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Calls of the file system for these names never return. Their deadline passes at once. */
function hangingAt(...names: readonly string[]) {
  const clock = new VirtualClock();
  const calls = new PatientCalls(clock, 1000);
  const paths = names.map((name) => (name === '' ? folder : join(folder, name)));
  const hang = <T>() => {
    setImmediate(() => void clock.advance(1000));
    return new Promise<T>(() => undefined);
  };
  return {
    call: <T>(path: string, work: () => Promise<T>) =>
      calls.call(path, () => (paths.includes(path) ? hang<T>() : work())),
  };
}

test('links to a file system that does not answer are problems, and the sockets beside them are found', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(folder, 'good.sock'), resolve));
  const names = ['a.sock', 'b.sock', 'c.sock', 'd.sock', 'e.sock'];
  for (const name of names) symlinkSync('good.sock', join(folder, name));
  const { sockets, problems } = await readSockets(folder, () => undefined, hangingAt(...names));
  expect([...sockets.keys()]).toEqual([join(folder, 'good.sock')]);
  expect([...problems.keys()].sort()).toEqual(names.map((name) => join(folder, name)));
  expect([...problems.values()]).toContain('its file system does not answer');
  await new Promise((resolve) => server.close(resolve));
});

test('a folder that does not answer is not watched: the watch would not return either', async () => {
  const watched: string[] = [];
  const { problems } = await readSockets(folder, (path) => watched.push(path), hangingAt(''));
  expect(problems.get(folder)).toBe('its file system does not answer');
  expect(watched).toEqual([]);
});
