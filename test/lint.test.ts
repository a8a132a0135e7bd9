/** What the linter refuses by the rules of this house, and only where it is meant to. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const RULES =
  /^(?:house\([\w-]+\)|regexp\([\w-]+\)|eslint\((?:no-restricted-[a-z]+|max-lines-per-function)\))$/u;

interface Case {
  readonly rule: string;
  /** Each is refused in each of the places, and in none of `allowed`. */
  readonly code: readonly string[];
  readonly refused: readonly string[];
  readonly allowed?: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  'a removal or a copy that walks by paths': {
    rule: 'house(syntax)',
    code: [
      'rm(path, { recursive: true, force: true });',
      'rmSync(path, { force: true, recursive: true });',
      'fs.promises.rm(path, { recursive });',
      'cp(from, to, { recursive: true });',
      'mkdirSync(path, { recursive: true });',
    ],
    refused: ['embedded/containers', 'agent/server', 'run', 'agent/actors/pods'],
    allowed: ['system/files'],
  },
  'a call that follows links, in the rooms of the files of pods': {
    rule: 'eslint(no-restricted-imports)',
    code: ['chown', 'chmod', 'cp', 'readFile', 'writeFile', 'opendir'].map(
      (name) => `import { ${name} } from 'node:fs/promises';`,
    ),
    refused: [
      ...['volumes/claims', 'logs', 'stats/disks', 'pods'].map((room) => `agent/runtime/${room}`),
      ...['containers', 'streams'].map((room) => `embedded/${room}`),
    ],
    allowed: ['agent/config'],
  },
  'an actor that the page could not find': {
    rule: 'house(syntax)',
    code: ["import { createActor, setup } from 'xstate';"],
    refused: ['agent/actors/node'],
    allowed: ['recorder/replay'],
  },
  'what is private to a library': {
    rule: 'house(syntax)',
    code: ['system._register = own;', 'const { _nodes } = snapshot;'],
    refused: ['agent/actors', 'recorder/replay'],
  },
  'what an inspector is shown': {
    rule: 'none',
    code: ['const { _transitions } = step;', "import { createActor } from '../agent-actor.ts';"],
    refused: [],
    allowed: ['agent/actors/node'],
  },
  'an import against the arrows of the house': {
    rule: 'house(arrows)',
    code: [
      "import type { A } from '../../run/daemon.ts';",
      "export * from '../../simulation/a.ts';",
      "const a = await import('../../page/server/a.ts');",
    ],
    refused: ['agent/policies', 'agent/machines', 'agent/actors', 'system/files', 'embedded/monitor'],
  },
  'a package in a room of decisions': {
    rule: 'house(arrows)',
    code: ["import { readFileSync } from 'node:fs';", "import { map } from 'rxjs';"],
    refused: ['agent/policies', 'agent/machines', 'recorder/policies', 'doctor/policies'],
    allowed: ['agent/actors/node', 'run/daemon'],
  },
  'a look past the virtual clock': {
    rule: 'house(arrows)',
    code: ["import { hostname } from 'node:os';", "import { a } from '../../agent/runtime/cri/a.ts';"],
    refused: ['simulation/runtime'],
    allowed: ['simulation/node'],
  },
  'a clock or chance in a decision': {
    rule: 'eslint(no-restricted-globals)',
    code: ['performance.now();', 'setTimeout(f, 1);', 'process.exit();'],
    refused: ['agent/machines', 'agent/policies/sync', 'recorder/policies'],
  },
  'chance in a decision': {
    rule: 'eslint(no-restricted-properties)',
    code: ['Math.random();'],
    refused: ['agent/machines', 'agent/policies/sync', 'simulation/runtime'],
    allowed: ['agent/runtime/pods'],
  },
  'the present, or the time zone, in a decision': {
    rule: 'house(syntax)',
    code: ['new Date();', 'Date.now();', 'new Date(1).getHours();'],
    refused: ['agent/machines', 'agent/policies/sync'],
    allowed: ['agent/runtime/pods'],
  },
  'a time that is given': {
    rule: 'none',
    code: ['new Date(5).toISOString();', 'Date.UTC(2020, 1);', 'Date.parse(text);'],
    refused: [],
    allowed: ['agent/machines', 'agent/policies/sync'],
  },
  'what the Stately editor cannot draw': {
    rule: 'house(syntax)',
    code: ['setup({}).createMachine({ entry: () => 1 });', 'setup({}).createMachine({ ...rest });'],
    refused: ['agent/machines'],
    allowed: ['agent/actors'],
  },
  'output past the terminal': {
    rule: 'house(one-output)',
    code: [
      'console.log(1);',
      'process.stdout.write(text);',
      "import 'node:process';",
      'const own = process;',
    ],
    refused: ['commands', 'agent/runtime/pods'],
  },
  'a pattern that takes quadratic time': {
    rule: 'regexp(no-super-linear-move)',
    code: ['export const pattern = /a*b/u;'],
    refused: ['agent/runtime/pods', 'commands'],
  },
  'a long function': {
    rule: 'eslint(max-lines-per-function)',
    code: [`export function long() {\n${'  f();\n'.repeat(70)}}`],
    refused: ['agent/runtime/pods', 'simulation/node'],
  },
};

interface Report {
  readonly diagnostics: readonly { readonly code?: string; readonly filename: string }[];
}

let folder: string;
let found: Map<string, string[]>;
const fileOf = (name: string, at: number, room: string) =>
  join('src', room, `x-${Object.keys(CASES).indexOf(name)}-${at}.ts`);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-lint-'));
  for (const name of ['oxlint.config.ts', 'scripts/lint', 'package.json'])
    cpSync(join(REPOSITORY, name), join(folder, name), { recursive: true });
  symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
  for (const [name, { code, refused, allowed = [] }] of Object.entries(CASES)) {
    code.forEach((text, at) => {
      for (const room of [...refused, ...allowed]) {
        const path = join(folder, fileOf(name, at, room));
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, `${text}\n`);
      }
    });
  }
  const report = await new Promise<string>((resolve) => {
    const program = join(REPOSITORY, 'node_modules/oxlint/bin/oxlint');
    execFile(process.execPath, [program, '--format', 'json', 'src'], { cwd: folder }, (_, output) => {
      resolve(output);
    });
  });
  const { diagnostics } = JSON.parse(report) as Report;
  const relevant = diagnostics.filter(({ code = '' }) => RULES.test(code));
  const byFile = Map.groupBy(relevant, ({ filename }) => filename);
  found = new Map([...byFile].map(([file, list]) => [file, list.map(({ code = '' }) => code)]));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(Object.entries(CASES))('%s', (name, { rule, code, refused, allowed = [] }) => {
  const answers = (rooms: readonly string[]) =>
    code.flatMap((text, at) =>
      rooms.map((room) => [room, text, [...new Set(found.get(fileOf(name, at, room)))].includes(rule)]),
    );
  expect(answers(refused)).toEqual(code.flatMap((text) => refused.map((room) => [room, text, true])));
  const clean = code.flatMap((_, at) => allowed.flatMap((room) => found.get(fileOf(name, at, room)) ?? []));
  expect(clean).toEqual([]);
});
