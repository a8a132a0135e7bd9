/** What the documents refer to exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addRunFlags } from '../src/commands/run-flags.ts';
import { CHECKS } from '../src/doctor/policies/finding.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENTS = readdirSync(repository)
  .concat(
    readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) =>
      join('docs', name),
    ),
  )
  .concat('examples/systemd/README.md')
  .filter((name) => name.endsWith('.md'));

const read = (name: string) => readFileSync(join(repository, name), 'utf8');

function matches(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), ([, match = '']) => match);
}

/** As GitHub makes it from a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- ]/gu, '')
    .replaceAll(' ', '-');
}

describe.each(DOCUMENTS)('%s', (name) => {
  const text = read(name);

  test('links to files and headings that exist', () => {
    const links = matches(text, /\]\(([^)\s]+)\)/gu).filter((link) => !/^https?:/u.test(link));
    const broken = links.filter((link) => {
      const [path = '', heading] = link.split('#');
      const target = path === '' ? name : join(dirname(name), path);
      if (!existsSync(join(repository, target))) return true;
      return (
        heading !== undefined &&
        !matches(read(target), /^#+ (.*)$/gmu)
          .map(anchor)
          .includes(heading)
      );
    });
    expect(broken).toEqual([]);
  });

  test('names files of the repository that exist', () => {
    const named = matches(text, /`((?:src|test|scripts|docs|examples|bench)\/[\w./-]+)`/gu);
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });

  test('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: object };
    const named = matches(text, /npm run ([\w:-]+)/gu).map((script) => script.replace(/:$/u, ''));
    expect(named.filter((script) => !(script in scripts))).toEqual([]);
  });
});

test('the index of documents has every document', () => {
  const documents = readdirSync(join(repository, 'docs')).filter((name) => name.endsWith('.md'));
  const listed = matches(read('docs/README.md'), /\]\(([\w-]+\.md)\)/gu);
  expect(listed.toSorted()).toEqual(documents.filter((name) => name !== 'README.md').toSorted());
});

test('ARCHITECTURE.md can be read at one sitting', () => {
  expect(read('ARCHITECTURE.md').split('\n').length).toBeLessThanOrEqual(200);
});

describe('examples', () => {
  test.each(
    ['statelet.service', '10-cluster.conf']
      .map((name) => `examples/systemd/${name}`)
      .concat('examples/container/Containerfile'),
  )('%s names flags of statelet run', (name) => {
    const known = addRunFlags(new Command()).options.map(({ long }) => long);
    const [, ...commands] = read(name)
      .replaceAll(/\\\n#? */gu, '')
      .split(/statelet "?run\b|CMD \["run"/u);
    const flags = commands.flatMap((command) => matches(command.split('\n')[0] ?? '', /(--[\w-]+)/gu));
    expect(flags.length).toBeGreaterThan(0);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });

  test('examples/systemd/statelet.service leaves processes of containers alone', () => {
    const unit = read('examples/systemd/statelet.service').split('\n');
    expect(unit).toEqual(expect.arrayContaining(['KillMode=process', 'OOMPolicy=continue']));
  });
});

test('docs/doctor.md has every check of statelet doctor, in its order', () => {
  expect(matches(read('docs/doctor.md'), /^\| `([\w-]+)` +\|/gmu)).toEqual(CHECKS);
});
