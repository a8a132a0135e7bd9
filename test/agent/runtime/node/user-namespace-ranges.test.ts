import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { idSpace } from '../../../../src/agent/policies/security/id-mappings.ts';
import {
  readSubordinateIds,
  UserNamespaces,
} from '../../../../src/agent/runtime/node/user-namespace-ranges.ts';

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

  test('with an unreadable record are given to no other pod, and the log says what to do', async () => {
    writeFileSync(file('u-1'), 'nonsense');
    const users = new UserNamespaces(rootDir, SPACE);
    await expect(users.ensure('u-2')).rejects.toMatchObject({
      kind: 'DataLoss',
      message: expect.stringMatching(/u-1\/userns is no record of .*; end the pod and remove the file$/),
    });
    rmSync(file('u-1'));
    expect(await users.ensure('u-2')).toMatchObject({ mode: 'POD' });
  });

  test('do not depend on other files among the folders of pods', async () => {
    writeFileSync(join(rootDir, 'pods', 'a-file'), '');
    expect(await new UserNamespaces(rootDir, SPACE).ensure('u-1')).toMatchObject({ mode: 'POD' });
  });
});

describe('subordinate ids', () => {
  let dir: string;
  beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'statelet-subids-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  /** A machine with these users, whose `getsubids` is a script. */
  function read(
    script: string | undefined,
    users = 'root:x:0:0::/:/bin/sh\nkubelet:x:999:999::/:/bin/false\n',
  ) {
    const [passwd, command] = [join(dir, 'passwd'), join(dir, 'getsubids')];
    writeFileSync(passwd, users);
    if (script !== undefined) {
      writeFileSync(command, `#!/bin/sh\n${script}\n`);
      chmodSync(command, 0o755);
    }
    return readSubordinateIds({ passwd, command });
  }

  test('are those of the user kubelet, the same for users and groups', async () => {
    expect(await read('echo 0: kubelet 65536 7208960')).toEqual({ hostId: 65_536, length: 7_208_960 });
  });

  test('without that user, or without the command, there are none', async () => {
    expect(await read(undefined)).toBeUndefined();
    expect(await read('exit 1', 'root:x:0:0::/:/bin/sh\nnot-kubelet:x:1:1::/:/\n')).toBeUndefined();
  });

  test('a pipe in place of the list of users is an error that names it, and does not block', async () => {
    const passwd = join(dir, 'passwd');
    execFileSync('mkfifo', [passwd]);
    await expect(readSubordinateIds({ passwd })).rejects.toThrow(`${passwd} is not a file but a named pipe`);
  });

  test('must be the same for users and groups, and readable', async () => {
    await expect(
      read('[ $1 = -g ] && echo 0: kubelet 131072 65536 || echo 0: kubelet 65536 65536'),
    ).rejects.toThrow('mismatched subuids and subgids for user "kubelet"');
    await expect(read('echo broken >&2; exit 2')).rejects.toThrow(
      /^error retrieving additional ids for user "kubelet": [^]*broken/u,
    );
  });
});
