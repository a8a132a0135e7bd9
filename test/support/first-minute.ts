/** `npm start` on the pods of `examples/pods`: README.md shows what it prints. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BIN } from './built.ts';

const repository = dirname(dirname(BIN));
const BLOCK = /(<!-- first minute -->\n\n```console\n).*?(```\n\n<!-- \/first minute -->)/su;
/** README shows the log of this pod alone. */
const SHOWN = 'crash-loop';

export interface FirstMinute {
  /** The first lines, and all lines about the pod that is shown. */
  log(): readonly string[];
  /** The present output of `statelet pods`. */
  pods(): Promise<string>;
  /** Ctrl-C. Resolves when the daemon and its pods have ended. */
  end(): Promise<void>;
}

/** Runs the command of `npm start` in a separate folder that looks like the repository. */
export function startFirstMinute(): FirstMinute {
  const cwd = mkdtempSync(join(tmpdir(), 'statelet-first-minute-'));
  cpSync(join(repository, 'examples'), join(cwd, 'examples'), { recursive: true });
  // npm_command: paths and commands are shown in the form for use after `npm start`.
  const options = { cwd, env: { PATH: process.env.PATH, npm_command: 'run-script', NO_COLOR: '1' } };
  const child = spawn(process.execPath, [BIN, ...startArguments()], {
    ...options,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const closed = once(child, 'close');
  return {
    log: () => shownLines(output),
    pods: async () => {
      const args = [BIN, 'pods', '--root-dir', '.statelet'];
      return (await promisify(execFile)(process.execPath, args, options)).stdout;
    },
    end: async () => {
      child.kill('SIGINT');
      await closed;
      rmSync(cwd, { recursive: true });
    },
  };
}

function startArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    readonly scripts: { readonly start: string };
  };
  return [...scripts.start.split(' ').slice(2), '--hostname-override', 'node1'];
}

function shownLines(output: string): readonly string[] {
  const lines = output.split('\n').slice(0, -1);
  const welcome = lines.findIndex((line) => line.includes('to stop:'));
  return lines.filter((line, index) => index <= welcome || line.includes(` default/${SHOWN}:`));
}

/** The block of README.md: the lines of the log that it shows, and the table. */
export function shownFirstMinute(readme: string): { readonly log: readonly string[]; readonly pods: string } {
  const [, , text = ''] = /(<!-- first minute -->\n\n```console\n)(.*?)```\n/su.exec(readme) ?? [];
  const [log = '', pods = ''] = text.split(/^\$ .*\n/mu).slice(1);
  return { log: log.split('\n').filter((line) => line !== '' && line !== '…'), pods };
}

export function withFirstMinute(readme: string, log: readonly string[], pods: string): string {
  const welcome = log.findIndex((line) => line.includes('to stop:')) + 1;
  const shown = [...log.slice(0, welcome), '…', ...log.slice(welcome)];
  const text = `$ npm ci && npm start\n${shown.join('\n')}\n\n$ npx statelet pods --root-dir .statelet\n${pods}`;
  return readme.replace(BLOCK, (_, open: string, close: string) => open + text + close);
}

/** The text without times, durations, UIDs and column widths, which differ between runs. */
export function timeless(text: string): string {
  return text
    .replaceAll(/^\d\d:\d\d:\d\d\.\d{3} /gm, 'TIME ')
    .replaceAll(/_default\([0-9a-f]+\)/g, '_default(UID)')
    .replaceAll(/\b\d+s\b/g, 'DURATION')
    .replaceAll(/ {2,}/g, '  ');
}

/** Whether all pods have the states that README shows. They stay so for about ten seconds. */
export function isWorthShowing(pods: string): boolean {
  const shown = [
    /crash-loop.* CrashLoopBackOff /,
    /count-down.* CrashLoopBackOff /,
    /init-and-sidecar.* 2\/2 /,
  ];
  return shown.every((pattern) => pattern.test(pods));
}
