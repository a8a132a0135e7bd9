import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apply, type ApplyFlags } from '../../../src/commands/client/apply.ts';
import { applyRoute, type AppliedObject } from '../../../src/agent/server/routes/apply-routes.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { type OwnerSocket, ownerSocket } from '../../support/owner-socket.ts';

let dir: string;
let socket: OwnerSocket;
/** What the daemon was asked for. */
let asked: string[];
/** Lets the daemon answer the first document last. */
let answerFirst: PromiseWithResolvers<undefined>;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-apply-'));
  asked = [];
  answerFirst = Promise.withResolvers();
  answerFirst.resolve(undefined);
  const applyManifest = async (content: Buffer, { dryRun }: { readonly dryRun: boolean }) => {
    const [, name = ''] = /name: (\S+)/u.exec(content.toString()) ?? [];
    asked.push(`${name}${dryRun ? ' (dry)' : ''}`);
    if (name === 'first') await answerFirst.promise;
    else answerFirst.resolve(undefined);
    if (name === 'wrong') throw new StateletError('InvalidArgument', 'spec: is required\nstatus: is odd');
    const applied: AppliedObject = {
      ...{ kind: 'Pod', namespace: 'default', name },
      ...{ outcome: 'created', version: '1', file: '/x' },
    };
    return applied;
  };
  socket = await ownerSocket([applyRoute({ manifestBytesMax: 200, applyManifest })]);
});
afterEach(async () => {
  await socket.close();
  rmSync(dir, { recursive: true });
});

const pod = (name: string) => `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\n`;

function file(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

async function run(flags: ApplyFlags): Promise<string> {
  let text = '';
  await apply({ rootDir: socket.rootDir, ...flags }, (part) => (text += part));
  return text;
}

test('each document is applied, and reported in its order', async () => {
  answerFirst = Promise.withResolvers();
  const path = file('a.yaml', `${pod('first')}---\n${pod('second')}`);
  expect(await run({ filename: [path] })).toBe('pod/first created\npod/second created\n');
  expect(asked).toEqual(['first', 'second']);
});

test.each<[ApplyFlags, string]>([
  [{ output: 'name' }, 'pod/web\n'],
  [{ dryRun: true }, 'pod/web created (dry run)\n'],
  [{ dryRun: 'client' }, 'pod/web created (dry run)\n'],
  [{ dryRun: 'server' }, 'pod/web created (server dry run)\n'],
  [{ dryRun: 'none' }, 'pod/web created\n'],
])('%j', async (flags, text) => {
  expect(await run({ filename: [file('a.yaml', pod('web'))], ...flags })).toBe(text);
  expect(asked).toEqual([text.includes('dry run') ? 'web (dry)' : 'web']);
});

test('the problem of one document is reported after the others have been applied', async () => {
  mkdirSync(join(dir, 'pods'));
  const wrong = file('pods/a.yaml', pod('wrong'));
  file('pods/b.yaml', pod('right'));
  const written: string[] = [];
  const applied = apply({ rootDir: socket.rootDir, filename: [join(dir, 'pods')] }, (text) =>
    written.push(text),
  );
  await expect(applied).rejects.toMatchObject({
    kind: 'FailedPrecondition',
    message: `${wrong}: spec: is required\n${wrong}: status: is odd`,
  });
  expect(written).toEqual(['pod/right created\n']);
});

test('of two documents of one object none is applied, and each error names the place of the other', async () => {
  mkdirSync(join(dir, 'pods'));
  const [a, b] = [file('pods/a.yaml', pod('web')), file('pods/b.yaml', `${pod('web')}---\n${pod('api')}`)];
  const written: string[] = [];
  const applied = apply({ rootDir: socket.rootDir, filename: [join(dir, 'pods')] }, (text) =>
    written.push(text),
  );
  await expect(applied).rejects.toMatchObject({
    kind: 'FailedPrecondition',
    message:
      `${a}: pod default/web is in ${b}, document 1 too: none of them is applied\n` +
      `${b}, document 1: pod default/web is in ${a} too: none of them is applied`,
  });
  expect([written, asked]).toEqual([['pod/api created\n'], ['api']]);
});

test('a manifest that is too large for the daemon is refused by it', async () => {
  const large = file('large.yaml', `${pod('web')}# ${'x'.repeat(200)}\n`);
  await expect(run({ filename: [large] })).rejects.toThrow(`${large}: a manifest may have 200 bytes`);
  expect(asked).toEqual([]);
});

test('without -f the error names the flag', async () => {
  await expect(run({})).rejects.toMatchObject({
    kind: 'InvalidArgument',
    message: expect.stringMatching(/^say what to apply: -f FILE/u),
  });
});
