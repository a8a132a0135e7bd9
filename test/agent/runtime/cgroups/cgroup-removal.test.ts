import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { removeCgroups } from '../../../../src/agent/runtime/cgroups/cgroup-removal.ts';
import { sendSignal } from '../../../support/send-signal.ts';
import { PlainCgroups } from './cgroup-bed.ts';

let plain: PlainCgroups;
beforeEach(() => {
  plain = new PlainCgroups();
});
afterEach(() => plain.remove());

test('cgroups are removed with all cgroups below them; a missing cgroup is no error', async () => {
  mkdirSync(plain.path('cpu/pod/container/inner'), { recursive: true });
  mkdirSync(plain.path('memory/pod'), { recursive: true });
  await removeCgroups([plain.path('cpu/pod'), plain.path('memory/pod'), plain.path('pids/pod')]);
  expect([existsSync(plain.path('cpu/pod')), existsSync(plain.path('memory/pod'))]).toEqual([false, false]);
});

test('the processes of a cgroup are killed, except pid 0, pid 1 and the agent; a cgroup that cannot be removed is an error', async () => {
  const group = plain.path('group');
  mkdirSync(group);
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  try {
    writeFileSync(join(group, 'cgroup.procs'), `0\n1\n${process.pid}\n${child.pid}\n`);
    await expect(removeCgroups([group], 0)).rejects.toMatchObject({
      kind: 'Internal',
      message: expect.stringContaining(`there are processes in it that do not end (${child.pid})`),
    });
    await ended;
    expect(child.signalCode).toBe('SIGKILL');
  } finally {
    if (child.exitCode === null && child.signalCode === null) sendSignal(child.pid ?? 0, 'SIGKILL');
    rmSync(group, { recursive: true });
  }
});

test('on cgroup v2, the processes are killed by cgroup.kill if the kernel has it', async () => {
  const group = plain.path('group');
  mkdirSync(group);
  writeFileSync(join(group, 'cgroup.kill'), '');
  await expect(removeCgroups([group], 1)).rejects.toMatchObject({ kind: 'Internal' });
  expect(plain.values('group')).toEqual({ 'cgroup.kill': '1' });
});
