/** With the real systemd-notify, and a datagram socket in systemd's place. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { takeServiceManager } from '../../src/system/service-manager.ts';
import { installedProgram } from '../support/installed-program.ts';

/** Node has no datagram sockets. Says when it listens, then what it hears. */
const LISTENER = `use IO::Socket::UNIX; $| = 1;
my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
print "listening\\n";
while (defined $socket->recv(my $text, 4096)) { print "$text\\n"; }`;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-notify-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

(installedProgram('systemd-notify') ? test : test.skip)(
  'the manager hears that the service is up',
  async () => {
    const path = join(dir, 'notify');
    const listener = spawn('perl', ['-e', LISTENER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface(listener.stdout);
    try {
      await once(lines, 'line');
      const env = { ...process.env, NOTIFY_SOCKET: path };
      const heard = once(lines, 'line');
      const manager = takeServiceManager(env);
      const done = manager?.ready();
      expect(await heard).toEqual(['READY=1']);
      expect('NOTIFY_SOCKET' in env).toBe(false);
      // systemd-notify waits until systemd has worked off what it has said.
      listener.kill();
      await done?.catch(() => undefined);
    } finally {
      listener.kill();
    }
  },
);

test('nobody is told where nobody waits, and a program that is missing is named', async () => {
  expect(takeServiceManager({})).toBeUndefined();
  const manager = takeServiceManager({ PATH: dir, NOTIFY_SOCKET: join(dir, 'none') });
  await expect(manager?.ready()).rejects.toThrow('the program systemd-notify is not installed');
});
