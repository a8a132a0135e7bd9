import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { idSpace } from '../../../../src/agent/policies/security/id-mappings.ts';
import { UserNamespaces } from '../../../../src/agent/runtime/node/user-namespace-ranges.ts';

const SPACE = idSpace(65_536, 110);

describe('the users of pods', () => {
  let rootDir: string;
  beforeEach(() => {
    rootDir = mkdtempSync(join(tmpdir(), 'statelet-users-'));
    for (const uid of ['u-1', 'u-2']) mkdirSync(join(rootDir, 'pods', uid), { recursive: true });
  });
  afterEach(() => rmSync(rootDir, { recursive: true }));
  const file = (uid: string) => join(rootDir, 'pods', uid, 'userns');

  test('stay the same for as long as the pod is there, over a restart of the agent too', async () => {
    const users = new UserNamespaces(rootDir, SPACE);
    const first = await users.ensure('u-1');
    expect(await users.ensure('u-1')).toEqual(first);
    expect(await new UserNamespaces(rootDir, SPACE).ensure('u-1')).toEqual(first);
    expect(statSync(file('u-1')).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file('u-1'), 'utf8'))).toEqual({
      uidMappings: first.uids,
      gidMappings: first.gids,
    });
  });

  test('of two pods are never the same, although both would begin to search at the same place', async () => {
    const [first] = (await new UserNamespaces(rootDir, SPACE).ensure('u-1')).uids;
    // What the second one would get, were it alone, is taken by an agent from before.
    const alone = (await new UserNamespaces(rootDir, SPACE).ensure('u-2')).uids[0];
    writeFileSync(file('u-1'), readFileSync(file('u-2')));
    rmSync(file('u-2'));
    const [second] = (await new UserNamespaces(rootDir, SPACE).ensure('u-2')).uids;
    expect(second?.hostId).not.toBe(alone?.hostId);
    expect(second?.hostId).not.toBe(first?.hostId);
  });

  test('are given back when the pod is released; an unknown pod is no error', async () => {
    const users = new UserNamespaces(rootDir, SPACE);
    await users.ensure('u-1');
    await users.release('u-1');
    await users.release('never-seen');
    expect(() => statSync(file('u-1'))).toThrow('ENOENT');
  });

  test('that were recorded in an unreadable way are given to no other pod: it is said what to do', async () => {
    writeFileSync(file('u-1'), 'nonsense');
    const users = new UserNamespaces(rootDir, SPACE);
    await expect(users.ensure('u-2')).rejects.toMatchObject({
      kind: 'DataLoss',
      message: expect.stringMatching(/u-1\/userns is no record of .*; end the pod and remove the file$/),
    });
    rmSync(file('u-1'));
    expect(await users.ensure('u-2')).toMatchObject({ mode: 'POD' });
  });

  test('do not mind what else lies among the folders of pods', async () => {
    writeFileSync(join(rootDir, 'pods', 'a-file'), '');
    expect(await new UserNamespaces(rootDir, SPACE).ensure('u-1')).toMatchObject({ mode: 'POD' });
  });
});
