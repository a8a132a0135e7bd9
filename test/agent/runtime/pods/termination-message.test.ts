import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TERMINATION_MESSAGE_POLICY_ANNOTATION } from '../../../../src/agent/policies/cri/cri-labels.ts';
import { testAsRoot } from '../../../support/as-root.ts';
import { terminationMessage } from '../../../../src/agent/runtime/pods/termination-message.ts';

const run = (command: string, ...args: string[]) => execFileSync(command, args);
const FALLBACK = { [TERMINATION_MESSAGE_POLICY_ANNOTATION]: 'FallbackToLogsOnError' };

let dir: string;
let message: string;
let log: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-message-'));
  message = join(dir, 'message');
  log = join(dir, '0.log');
  writeFileSync(log, '2026-01-02T03:04:05.678Z stderr F it broke\n');
});
afterEach(() => rmSync(dir, { recursive: true }));

const read = (annotations: Readonly<Record<string, string>> = {}, exitCode = 1, writtenSinceMs = 0) =>
  terminationMessage({ annotations, exitCode }, { message, writtenSinceMs, log });

test('the message is the end of the file, at most 4096 bytes', () => {
  writeFileSync(message, `begin${'x'.repeat(4090)}finish`);
  expect(read()).toBe(`${'x'.repeat(4090)}finish`);
});

test('with FallbackToLogsOnError, a failed container without a message has the end of its log', () => {
  expect(read(FALLBACK)).toBe('it broke\n');
});

test.each([
  ['the policy is File', {}, 1],
  ['the container has succeeded', FALLBACK, 0],
])('the log is not used if %s', (_why, annotations, exitCode) => {
  expect(read(annotations, exitCode)).toBe('');
});

test('a message from before the start of the container is ignored', () => {
  writeFileSync(message, 'old');
  utimesSync(message, 1_000, 1_000);
  expect(read({}, 1, 2_000_000)).toBe('');
  expect(read({}, 1, 1_000_000)).toBe('old');
});

test('a link is not followed, and a pipe does not block', () => {
  writeFileSync(join(dir, 'secret'), 'secret');
  symlinkSync(join(dir, 'secret'), message);
  expect(read()).toBe('');
  rmSync(message);
  run('mkfifo', message);
  expect(read()).toBe('');
});

testAsRoot("a file that the container's user cannot write is not its message", () => {
  const asWriter = (uid: number, gids: readonly number[]) =>
    terminationMessage(
      { annotations: {}, exitCode: 1 },
      { message, writer: { uid, gids }, writtenSinceMs: 0, log: undefined },
    );
  writeFileSync(message, 'of root');
  expect(asWriter(1000, [1000])).toBe('');
  expect(asWriter(0, [0])).toBe('of root');
  chownSync(message, 1000, 0);
  expect(asWriter(1000, [1000])).toBe('of root');
  chownSync(message, 0, 2000);
  expect(asWriter(1000, [1000, 2000])).toBe('');
  chmodSync(message, 0o660);
  expect(asWriter(1000, [1000, 2000])).toBe('of root');
  expect(asWriter(1000, [1000])).toBe('');
  chmodSync(message, 0o666);
  expect(asWriter(1000, [1000])).toBe('of root');
  return Promise.resolve();
});
