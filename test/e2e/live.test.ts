/** `statelet run --live` in a real terminal. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { BIN } from '../support/built.ts';
import { ACTING, HOSTILE, MARK, SAYING } from '../support/hostile-text.ts';
import { isRunning } from '../support/process-runtime.ts';
import { type Screen, TestTerminal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

const CTRL_C = '\u0003';

let dir: string;
let terminal: TestTerminal | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-live-'));
  mkdirSync(join(dir, 'pods'));
  writeFileSync(join(dir, 'pods', 'web.yaml'), manifest('web', { containers: [shell('exec sleep 1000')] }));
});
afterEach(async () => {
  // One that left at once has left its pod to the monitor, which ends it.
  const [daemon, monitor] = [daemonPid(), pidIn('runtime', 'monitor.lock')];
  if (daemon !== undefined && isRunning(daemon)) process.kill(daemon, 'SIGTERM');
  await until(() => daemon === undefined || !isRunning(daemon), 'the end of the daemon');
  if (monitor !== undefined && isRunning(monitor)) process.kill(monitor, 'SIGQUIT');
  await until(() => monitor === undefined || !isRunning(monitor), 'the end of the monitor');
  await terminal?.close();
  rmSync(dir, { recursive: true });
});

const daemonPid = () => pidIn('lock');

function pidIn(...path: string[]): number | undefined {
  const file = join(dir, 'root', ...path);
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) || undefined : undefined;
}

function open(
  args: readonly string[] = ['--live'],
  env: Readonly<Record<string, string>> = {},
): TestTerminal {
  const flags = ['--exit-with-pods', '--healthz-port', '0', '--root-dir', join(dir, 'root')];
  const command = [process.execPath, BIN, 'run', ...flags, '--pods', join(dir, 'pods'), ...args];
  terminal = new TestTerminal(command, { dir, columns: 100, rows: 30, env });
  return terminal;
}

const until = (check: () => boolean, what: string) => waitFor(check, { what });
const hasLine = ({ lines }: Screen, pattern: RegExp) => lines.some((line) => pattern.test(line));
const RUNS = /^(?:default +)?web +1\/1 +Running /u;

test('the table follows the pods and the size of the terminal, and stays readable after Ctrl-C', async () => {
  const shown = open();
  await until(() => hasLine(shown.screen, RUNS), 'the pod in the table');
  expect(shown.screen).toMatchObject({ isSecond: true, hasCursor: false });
  expect(shown.screen.lines[0]).toMatch(/^Statelet runs each pod of /u);
  expect(shown.output).toContain('\u001b[32mRunning');

  const failing = manifest('loop', { containers: [shell('exit 3')] });
  writeFileSync(join(dir, 'pods', 'loop.yaml'), failing);
  await until(() => hasLine(shown.screen, /└ waits to start container/u), 'what the second pod waits for');

  shown.resize(60, 10);
  await until(
    () => (shown.screen.lines[0] ?? '').startsWith('NAME') && shown.screen.lines.length <= 10,
    'a small table',
  );
  expect(Math.max(...shown.screen.lines.map((line) => line.length))).toBeLessThanOrEqual(60);

  shown.type(CTRL_C);
  await until(() => shown.exitCode !== undefined, 'the end');
  expect(shown.exitCode).toBe(0);
  // What was written last may come after the exit code.
  await until(() => (shown.screen.lines.at(-1) ?? '').endsWith('INFO: stopped'), 'the last line');
  expect(shown.screen).toMatchObject({ isSecond: false, hasCursor: true });
  // How the pods have ended.
  expect(hasLine(shown.screen, /^(?:default +)?web +0\/1 +Error .*Terminated\.Finished$/u)).toBe(true);
  expect(hasLine(shown.screen, /^(?:default +)?web .*(?:Running|Terminating)/u)).toBe(false);
});

test('a daemon that is asked to leave at once gives the terminal back', async () => {
  const shown = open();
  await until(() => hasLine(shown.screen, RUNS), 'the pod in the table');
  process.kill(daemonPid() ?? 0, 'SIGQUIT');
  await until(() => shown.exitCode !== undefined, 'the end');
  expect(shown.exitCode).toBe(131);
  await until(() => !shown.screen.isSecond && hasLine(shown.screen, /leaving at once/u), 'the last frame');
  expect(shown.screen.hasCursor).toBe(true);
  expect(hasLine(shown.screen, RUNS)).toBe(true);
});

test('a daemon that cannot start says why on the first screen', async () => {
  const shown = open(['--live', '--inspect', '192.0.2.1:1']);
  await until(() => shown.exitCode !== undefined, 'the end');
  expect(shown.exitCode).toBe(1);
  await until(() => hasLine(shown.screen, /^statelet: cannot serve/u), 'the reason');
  expect(shown.screen).toMatchObject({ isSecond: false, hasCursor: true });
});

test('the shell gets its screen while the daemon is suspended', async () => {
  const shown = open();
  await until(() => hasLine(shown.screen, RUNS), 'the pod in the table');
  const daemon = daemonPid() ?? 0;
  process.kill(daemon, 'SIGTSTP');
  await until(() => !shown.screen.isSecond, 'the first screen');
  expect(shown.screen.hasCursor).toBe(true);
  await until(
    () => /^State:\tT/mu.test(readFileSync(`/proc/${daemon}/status`, 'utf8')),
    'the daemon to be suspended',
  );
  process.kill(daemon, 'SIGCONT');
  await until(() => shown.screen.isSecond && hasLine(shown.screen, RUNS), 'the table again');
});

test('there are no colours with NO_COLOR', async () => {
  const shown = open(['--live'], { NO_COLOR: '1' });
  await until(() => hasLine(shown.screen, RUNS), 'the pod in the table');
  // oxlint-disable-next-line no-control-regex -- colours begin with ESC
  expect(shown.output).not.toMatch(/\u001b\[\d+m/u);
});

test.each([
  ['JSON is asked for', ['--live', '--logging-format', 'json'], {}, /"msg":"Added/u],
  ['the terminal cannot be drawn on', ['--live'], { TERM: 'dumb' }, /INFO: default\/web: Added/u],
  ['no table is asked for', [], {}, /default\/web: Added/u],
])('there are log lines, and no second screen, where %s', async (_, args, env, line) => {
  const shown = open(args, env);
  await until(() => line.test(shown.screen.lines.join('\n')), 'a log line');
  expect(shown.output).not.toContain('\u001b[?1049h');
});

test('names and texts of others act on no terminal', async () => {
  writeFileSync(join(dir, 'pods', 'wrong.json'), JSON.stringify({ kind: HOSTILE, [HOSTILE]: HOSTILE }));
  const readinessProbe = { exec: { command: ['sh', '-c', `${SAYING}; exit 1`] }, periodSeconds: 1 };
  const containers = [shell('exec sleep 1000', { readinessProbe })];
  writeFileSync(join(dir, 'pods', 'unready.json'), manifest('unready', { containers }));
  const shown = open();
  await until(() => hasLine(shown.screen, RUNS), 'the pod in the table');
  shown.resize(1000, 30);
  await until(() => hasLine(shown.screen, /unready.*PWNED/u), 'what the probe says');
  await until(() => hasLine(shown.screen, /wrong\.json.*PWNED/u), 'the wrong manifest');
  // oxlint-disable-next-line no-control-regex -- what the screen is drawn with
  const texts = shown.output.replaceAll(/\u001b\[\??[\d;]*[A-Za-z]|\r/gu, '');
  expect(texts).not.toMatch(ACTING);
  expect(texts).toContain(MARK);
  shown.type(CTRL_C);
  await until(() => shown.exitCode !== undefined, 'the end');
});
