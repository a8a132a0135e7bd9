/** A daemon whose terminal is closed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { BIN } from '../support/built.ts';
import { isRunning } from '../support/process-runtime.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

let dir: string;
let rootDir: string;
let terminal: ChildProcess | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-terminal-'));
  rootDir = join(dir, 'root');
  mkdirSync(join(dir, 'pods'));
});
afterEach(async () => {
  if (terminal?.exitCode === null && terminal.signalCode === null) await close(terminal);
  const monitor = pidIn(join(rootDir, 'runtime', 'monitor.lock'));
  if (monitor !== undefined && isRunning(monitor)) process.kill(monitor, 'SIGQUIT');
  for (const pid of [pidIn(join(rootDir, 'lock')), monitor]) {
    if (pid !== undefined) await waitFor(() => !isRunning(pid), { what: `the end of ${pid}` });
  }
  rmSync(dir, { recursive: true });
});

const pidIn = (file: string): number | undefined =>
  existsSync(file) ? Number(readFileSync(file, 'utf8')) || undefined : undefined;

/** Runs the command line in a separate terminal. */
function inTerminal(...args: string[]): ChildProcess {
  const command = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  terminal = spawn(
    'script',
    ['--quiet', '--flush', '--command', `exec ${command}`, join(dir, 'typescript')],
    {
      stdio: 'ignore',
      env: { ...process.env, SHELL: '/bin/sh' },
      detached: true,
    },
  );
  return terminal;
}

/** Closes the terminal at once. */
async function close(of: ChildProcess): Promise<void> {
  of.kill('SIGKILL');
  await once(of, 'exit');
}

/** A pod that writes that it runs, and how it ends. */
function writePod(): { readonly started: string; readonly ended: string } {
  const [started, ended] = [join(dir, 'started'), join(dir, 'ended')];
  const script = `trap 'echo in good order > ${ended}; exit 0' TERM; echo $$$$ > ${started}; while :; do sleep 0.1; done`;
  writeFileSync(join(dir, 'pods', 'web.yaml'), manifest('web', { containers: [shell(script)] }));
  return { started, ended };
}

const FLAGS = ['--healthz-port', 'auto', '--pod-manifest-path'];

test('closing the terminal ends the pods with their grace period if the daemon runs with --exit-with-pods', async () => {
  const { started, ended } = writePod();
  const shown = inTerminal('run', '--exit-with-pods', '--root-dir', rootDir, ...FLAGS, join(dir, 'pods'));
  const container = await waitFor(() => pidIn(started), { what: 'the container' });
  const daemon = pidIn(join(rootDir, 'lock')) ?? 0;
  expect(isRunning(daemon)).toBe(true);
  await close(shown);
  await waitFor(() => !isRunning(daemon), { what: 'the end of the daemon' });
  expect(isRunning(container)).toBe(false);
  expect(readFileSync(ended, 'utf8')).toBe('in good order\n');
});

test('closing the terminal leaves the pods running without --exit-with-pods', async () => {
  const { started, ended } = writePod();
  const shown = inTerminal('run', '--root-dir', rootDir, ...FLAGS, join(dir, 'pods'));
  const container = await waitFor(() => pidIn(started), { what: 'the container' });
  const daemon = pidIn(join(rootDir, 'lock')) ?? 0;
  await close(shown);
  await waitFor(() => !isRunning(daemon), { what: 'the end of the daemon' });
  expect([isRunning(container), existsSync(ended), existsSync(join(rootDir, 'statelet.sock'))]).toEqual([
    true,
    false,
    false,
  ]);
});
