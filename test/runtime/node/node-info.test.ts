import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readNodeInfo } from '../../../src/runtime/node/node-info.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'statelet-node-info-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function file(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

test('the ids of the machine, its operating system and its swap', async () => {
  file('etc/machine-id', '0123456789abcdef\n');
  file('sys/class/dmi/id/product_uuid', '11111111-2222-3333-4444-555555555555\n');
  file('proc/sys/kernel/random/boot_id', 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee\n');
  file('etc/os-release', 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\n');
  file('proc/meminfo', 'MemTotal:       8000000 kB\nSwapTotal:       1048576 kB\n');
  expect(await readNodeInfo(root)).toEqual({
    machineID: '0123456789abcdef',
    systemUUID: '11111111-2222-3333-4444-555555555555',
    bootID: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
    kernelVersion: release(),
    osImage: 'Debian GNU/Linux 13 (trixie)',
    swapBytes: 2 ** 30,
  });
});

test('a pipe in place of a file, or a link into the kernel’s log, holds nothing up', async () => {
  file('etc/os-release', 'PRETTY_NAME=Linux\n');
  execFileSync('mkfifo', [join(root, 'etc/machine-id')]);
  file('var/lib/dbus/machine-id', 'fedcba9876543210\n');
  rmSync(join(root, 'etc/os-release'));
  symlinkSync('/proc/kmsg', join(root, 'etc/os-release'));
  expect(await readNodeInfo(root)).toMatchObject({ machineID: 'fedcba9876543210', osImage: 'Linux' });
});

test('other places, where the usual files are missing or empty', async () => {
  file('etc/machine-id', '\n');
  file('var/lib/dbus/machine-id', 'fedcba9876543210\n');
  file('proc/device-tree/vm,uuid', '99999999-2222-3333-4444-555555555555\0');
  file('usr/lib/os-release', "PRETTY_NAME='Small Linux'\n");
  expect(await readNodeInfo(root)).toMatchObject({
    machineID: 'fedcba9876543210',
    systemUUID: '99999999-2222-3333-4444-555555555555',
    osImage: 'Small Linux',
  });
});

test('a machine that tells nothing has empty ids', async () => {
  expect(await readNodeInfo(root)).toMatchObject({
    machineID: '',
    systemUUID: '',
    bootID: '',
    osImage: 'Linux',
    swapBytes: 0,
  });
});
