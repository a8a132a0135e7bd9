/** `npm start` on the pods of `examples/pods`: README.md shows its output. */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BIN } from './built.ts';
import { TestTerminal } from './terminal.ts';
import { waitFor } from './wait-for.ts';

const repository = dirname(dirname(BIN));
const BLOCK = /(<!-- first minute -->\n\n```console\n).*?(```\n\n<!-- \/first minute -->)/su;
/** README shows the log of this pod alone. */
const SHOWN = 'crash-loop';

/** As wide as a code block of README. */
const COLUMNS = 110;
/** So high that no line of the log leaves the screen before the test has seen it. */
const ROWS = 400;

export interface FirstMinute {
  /** The first lines, and all lines of the log about the pod that is shown. */
  log(): readonly string[];
  /** The table of the pods, as it is now; empty before there is one. */
  pods(): string;
  /** Ctrl-C. Resolves when the daemon and its pods have ended. */
  end(): Promise<void>;
}

/** Runs the command of `npm start` in a separate folder that looks like the repository, in a terminal of its own. */
export function startFirstMinute(): FirstMinute {
  const cwd = mkdtempSync(join(tmpdir(), 'statelet-first-minute-'));
  cpSync(join(repository, 'examples'), join(cwd, 'examples'), { recursive: true });
  const terminal = new TestTerminal([process.execPath, BIN, ...startArguments()], {
    dir: cwd,
    cwd,
    columns: COLUMNS,
    rows: ROWS,
    // npm_command: paths and commands are shown in the form for use after `npm start`.
    env: { npm_command: 'run-script', NO_COLOR: '1' },
  });
  return {
    log: () => shownLines(terminal.screen.lines),
    pods: () => tableOf(terminal.screen.lines),
    end: async () => {
      terminal.type('\u0003');
      await waitFor(() => terminal.exitCode !== undefined, { what: 'the end' });
      await terminal.close();
      rmSync(cwd, { recursive: true });
    },
  };
}

function startArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    readonly scripts: { readonly start: string };
  };
  return [...scripts.start.split(' ').slice(1), '--hostname-override', 'node1'];
}

function shownLines(lines: readonly string[]): readonly string[] {
  const welcome = lines.findIndex((line) => line.startsWith('to stop:'));
  return lines.filter((line, index) => index <= welcome || line.includes(` default/${SHOWN}:`));
}

function tableOf(lines: readonly string[]): string {
  const first = lines.findIndex((line) => line.startsWith('NAMESPACE'));
  const table = first === -1 ? [] : lines.slice(first, lines.indexOf('', first));
  return table.map((line) => `${line}\n`).join('');
}

/** The block of README.md: the welcome and the lines of the log that it shows, and the table. */
export function shownFirstMinute(readme: string): { readonly log: readonly string[]; readonly pods: string } {
  const [, , text = ''] = /(<!-- first minute -->\n\n```console\n)(.*?)```\n/su.exec(readme) ?? [];
  const [welcome = '', pods = '', log = ''] = text.replace(/^\$ .*\n/u, '').split(/\n\n(?:…\n)?/u);
  return { log: `${welcome}\n${log}`.split('\n').filter((line) => line !== ''), pods: `${pods}\n` };
}

export function withFirstMinute(readme: string, log: readonly string[], pods: string): string {
  const welcome = log.findIndex((line) => line.startsWith('to stop:')) + 1;
  const shown = [...log.slice(0, welcome), '', ...pods.split('\n'), '…', ...log.slice(welcome)];
  const text = `$ npm ci && npm start\n${shown.join('\n')}\n`;
  return readme.replace(BLOCK, (_, open: string, close: string) => open + text + close);
}

/** The text without times, durations, UIDs, ports and column widths, which differ between runs. */
export function timeless(text: string): string {
  return (
    text
      .replaceAll(/^\d\d:\d\d:\d\d\.\d{3} /gm, 'TIME ')
      .replaceAll(/\b\d\d:\d\d:\d\dZ/g, 'TIME')
      .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
      .replaceAll(/_default\([0-9a-f]+\)/g, '_default(UID)')
      .replaceAll(/_default\([0-9a-f]*…/g, '_default(…')
      .replaceAll(/\b\d+s\b/g, 'DURATION')
      // A sentence may be wrapped elsewhere where its durations are longer.
      .replaceAll(/\n {4}(?=\S)/g, ' ')
      .replaceAll(/ {2,}/g, '  ')
  );
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
