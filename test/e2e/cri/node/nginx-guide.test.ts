/**
 * The commands of docs/nginx.md, to the letter. What differs: the packages of `apt-get` are those of this machine, and Docker Hub is a registry
 * of the test under Docker Hub's name, whose nginx is a busybox.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { removeCgroups } from '../../../../src/agent/runtime/cgroups/cgroup-removal.ts';
import { BIN } from '../../../support/built.ts';
import { TestAuthority } from '../../../support/certificate-authority.ts';
import { restrictsOomScoreAdj } from '../../../support/containerd/layout.ts';
import type { Registry } from '../../../support/containerd/registry.ts';
import { guideBlocks, isInstall, REGISTRIES, startGuideRegistry } from '../../../support/nginx-guide.ts';
import { SystemdMachine } from '../../../support/systemd/machine.ts';
import { describeWithSystemd } from '../../../support/systemd/suite.ts';

const path = (name: string) => fileURLToPath(new URL(`../../../../${name}`, import.meta.url));
const PLACE = fileURLToPath(new URL('../../../support/systemd/fresh-debian.sh', import.meta.url));

/** TLS with the names of the registries; what is behind it is another process, outside of this network. */
const front = (dir: string, { key, cert }: { readonly key: string; readonly cert: string }) => `
import { connect } from 'node:net';
import { createServer } from 'node:tls';
createServer(${JSON.stringify({ key, cert })}, (socket) => {
  const back = connect(${JSON.stringify(join(dir, 'registry.sock'))});
  for (const end of [socket, back]) end.on('error', () => [socket, back].forEach((one) => one.destroy()));
  socket.pipe(back).pipe(socket);
}).listen(443, '127.0.0.1');
`;

describeWithSystemd('from a fresh Debian to nginx', () => {
  let dir: string;
  let cgroup: string;
  let machine: SystemdMachine;
  let registry: Registry;
  let way: Server;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-nginx-'));
    cgroup = `/${basename(dir)}`;
    registry = await startGuideRegistry();
    const port = Number(registry.host.split(':')[1]);
    way = createServer((socket) => {
      const back = connect(port, '127.0.0.1');
      for (const end of [socket, back])
        end.on('error', () => [socket, back].forEach((one) => void one.destroy()));
      socket.pipe(back).pipe(socket);
    }).listen(join(dir, 'registry.sock'));
    const authority = new TestAuthority();
    writeFileSync(join(dir, 'authority.pem'), authority.cert);
    writeFileSync(join(dir, 'front.mjs'), front(dir, authority.keyPair({ dnsNames: REGISTRIES })));
    machine = await SystemdMachine.start(dir, cgroup);
  });
  afterAll(async () => {
    await machine.stop();
    way.close();
    await registry.stop();
    const tops = ['', ...'cpu cpuacct cpuset memory devices freezer blkio pids systemd unified'.split(' ')];
    await removeCgroups(tops.map((top) => join('/sys/fs/cgroup', top, cgroup)));
    rmSync(dir, { recursive: true });
  });

  /** Runs the commands on a fresh Debian of its own, and resolves to what is written to its output and its error output. */
  async function type(commands: string): Promise<string> {
    const inPlace = ['--net', '--mount', '--propagation', 'private', 'sh', PLACE, dir];
    const programs = [process.execPath, BIN, path('examples'), String(restrictsOomScoreAdj())];
    const child = machine.spawn('unshare', [...inPlace, ...programs], { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stdin?.end(commands);
    const code = await new Promise((resolve) => child.once('exit', resolve));
    if (code !== 0) throw new Error(`it ended with ${String(code)}:\n${output}`);
    return output;
  }

  test('its first block installs packages of Debian, the package of statelet, and nothing else', () => {
    expect(guideBlocks.filter(isInstall)).toEqual([
      expect.stringMatching(
        /^apt-get update\napt-get install -y containerd runc containernetworking-plugins iptables curl \.\/statelet_\S+_amd64\.deb\n$/u,
      ),
    ]);
  });

  test('the others bring the page of nginx, from the registry, to a port of the machine', async () => {
    const output = await type(guideBlocks.filter((block) => !isInstall(block)).join('\n'));
    expect(output).toContain('Welcome to nginx!');
    // The page may be there before the first probe of it.
    expect(output).toMatch(/web\s+[01]\/1\s+Running/u);
    expect(output).toContain('default/web runs');
    expect(output).toContain('response:200');
    expect(registry.requests('library/nginx').at(-1)).toMatch(/200$/u);
  });

  test('without the flag, the start names containerd, and the container that needs it says so as well', async () => {
    const [, , pod = ''] = guideBlocks;
    const output = await type(`${pod}
      statelet run --pods pods --logging-format text > log 2>&1 &
      until grep 'Pods run as plain processes' log; do sleep 0.1; done
      until statelet why web | grep 'images need a container runtime'; do sleep 0.1; done`);
    const choice = '--container-runtime-endpoint=unix:///run/containerd/containerd.sock';
    expect(output).toMatch(/; containerd \S+ answers at \/run\/containerd\/containerd\.sock: --container/u);
    expect(output.replaceAll(/\s+/gu, ' ')).toContain(`start statelet with ${choice} (see docs/nginx.md)`);
  });
});
