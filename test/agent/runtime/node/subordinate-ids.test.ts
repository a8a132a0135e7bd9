import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readSubordinateIds } from '../../../../src/agent/runtime/node/user-namespace-ranges.ts';

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

test('a pipe in place of the list of users is an error that names it, and is not waited for', async () => {
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
