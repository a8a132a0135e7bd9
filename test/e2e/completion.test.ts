/** Completion as a person has it: TAB is typed in a real shell on a terminal. bash is tried everywhere, zsh and fish where they are installed. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { BIN_ARGS } from '../support/built.ts';
import { onPath } from '../support/kubernetes-programs.ts';
import { type OwnerSocket, ownerSocket, podOnNode } from '../support/owner-socket.ts';
import { TestTerminal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

interface ShellCase {
  readonly shell: string;
  readonly flags: readonly string[];
  /** What a person has in the file that the shell reads at its start. */
  readonly setUp: string;
  /** What is typed to see all that fits. fish shows its list only on terminals that can do more than this one. */
  readonly ask: string;
}

const SHELLS: readonly ShellCase[] = [
  {
    shell: 'bash',
    flags: ['--norc', '--noprofile', '-i'],
    setUp: 'source <(statelet completion bash)',
    ask: 'statelet logs shop-\t\t',
  },
  {
    shell: 'zsh',
    flags: ['-f', '-i'],
    setUp: 'autoload -U compinit && compinit -u -D && source <(statelet completion zsh)',
    ask: 'statelet logs shop-\t',
  },
  {
    shell: 'fish',
    flags: ['--no-config', '-i'],
    setUp: 'statelet completion fish | source',
    ask: `complete -C 'statelet logs shop-'\n`,
  },
];

/** Ctrl-U. */
const CLEAR_LINE = '\u0015';
const ASKED_MAX = 20;
const ANSWER_MS = 10_000;

let dir: string;
let socket: OwnerSocket;
let terminal: TestTerminal;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-completion-'));
  mkdirSync(join(dir, 'bin'));
  const command = [process.execPath, ...BIN_ARGS].map((word) => `'${word}'`).join(' ');
  writeFileSync(join(dir, 'bin/statelet'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  socket = await ownerSocket([], [podOnNode('shop-front'), podOnNode('shop-back'), podOnNode('mail')]);
});
afterEach(async () => terminal.close());
afterAll(async () => {
  await socket.close();
  rmSync(dir, { recursive: true });
});

describe.each(SHELLS)('in $shell', ({ shell, flags, setUp, ask }) => {
  const isThere = onPath(shell) !== undefined;
  if (!isThere) process.stderr.write(`\nSKIPPED, NOTHING PROVED: completion in ${shell} needs ${shell}.\n`);

  (isThere ? test : test.skip)('TAB completes the name of a pod, and offers those that fit', async () => {
    const home = join(dir, shell);
    mkdirSync(home);
    const env = {
      PATH: `${join(dir, 'bin')}:${process.env.PATH ?? ''}`,
      STATELET_ROOT_DIR: socket.rootDir,
      HOME: home,
      // Without it, fish and zsh ask the terminal what it can, and wait for its answer.
      TERM: 'dumb',
    };
    terminal = new TestTerminal([shell, ...flags], { dir: home, columns: 120, rows: 40, env });
    const shows = (text: string | RegExp, timeoutMs?: number) =>
      waitFor(
        () => (typeof text === 'string' ? terminal.output.includes(text) : text.test(terminal.output)),
        {
          what: `${String(text)} in the terminal of ${shell}`,
          timeoutMs,
        },
      ).catch((error: unknown) => {
        throw new Error(JSON.stringify(terminal.output), { cause: error });
      });
    /** The program gives up after a second, so that no shell waits for it: on a busy machine it is asked again. */
    const answers = async (keys: string, text: string | RegExp) => {
      for (let asked = 1; asked < ASKED_MAX; asked++) {
        terminal.type(`${CLEAR_LINE}${keys}`);
        const isShown = await shows(text, ANSWER_MS).then(
          () => true,
          () => false,
        );
        if (isShown) return;
      }
      await shows(text);
    };
    terminal.type(`${setUp}; echo is''ready\n`);
    await shows('isready');
    // No pod is named "mai": the shell has to write the rest.
    await answers('statelet get pods -o name mai\t\n', 'pod/mail-node-a');
    await answers(ask, /shop-back-node-a[^]*shop-front-node-a|shop-front-node-a[^]*shop-back-node-a/u);
    expect(terminal.exitCode).toBeUndefined();
  });
});
