/**
 * The commands of docs/nginx.md on a fresh Debian 13, with its own packages. What differs: Docker Hub and registry.k8s.io are a registry of
 * this host, whose nginx is a busybox. The machine is emulated: `npm run test:vm`.
 */
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TestAuthority } from '../support/certificate-authority.ts';
import type { Registry } from '../support/containerd/registry.ts';
import { installVirtualMachine } from '../support/containerd/packages.ts';
import { guideBlocks, isInstall, REGISTRIES, startGuideRegistry } from '../support/nginx-guide.ts';
import { copyPackage } from '../support/vm/copy-package.ts';
import { VirtualMachine } from '../support/vm/virtual-machine.ts';
import { waitFor } from '../support/wait-for.ts';

const PATIENCE = { timeoutMs: 900_000, pauseMs: 2000 } as const;
const DAY_MS = 86_400_000;

describe('from a fresh Debian 13 to nginx', () => {
  let machine: VirtualMachine;
  let registry: Registry;
  let front: Server;

  beforeAll(async () => {
    await installVirtualMachine();
    registry = await startGuideRegistry();
    machine = await VirtualMachine.start({ name: 'nginx' });
    const authority = new TestAuthority();
    const pair = authority.keyPair({ dnsNames: REGISTRIES, notAfter: Date.now() + DAY_MS });
    front = await serveWithTls(machine.network.gateway, pair, registry);
    const file = join(machine.dir, 'authority.pem');
    writeFileSync(file, authority.cert);
    await machine.copyIn(file, '/root/authority.pem');
    await machine.shell(`cat authority.pem >> /etc/ssl/certs/ca-certificates.crt
      echo '${machine.network.gateway} ${REGISTRIES.join(' ')}' >> /etc/hosts`);
    await copyPackage(machine);
  });
  afterAll(async () => {
    front.close();
    await machine.stop();
    await registry.stop();
  });

  test('its commands install Debian’s packages and the one of statelet', async () => {
    for (const block of guideBlocks.filter(isInstall)) await machine.shell(block);
    expect(await machine.shell('systemctl is-active containerd; statelet --version')).toMatch(
      /^active\nstatelet \d+\.\d+\.\d+/u,
    );
  });

  test('its commands bring the page of nginx from the registry to a port of the machine', async () => {
    const outputs: string[] = [];
    for (const block of guideBlocks.filter((one) => !isInstall(one))) outputs.push(await type(block));
    const output = outputs.join('');
    expect(output).toContain('Welcome to nginx!');
    expect(output).toMatch(/web\s+[01]\/1\s+Running/u);
    expect(output).toContain('default/web runs');
    expect(output).toContain('response:200');
    expect(registry.requests('library/nginx').at(-1)).toMatch(/200$/u);
  });

  test('the pod ends with its file, and the port is free', async () => {
    const isGone = async () => !(await machine.shell('statelet pods')).includes('web');
    await waitFor(isGone, { what: 'the pod to end', ...PATIENCE });
    expect(await machine.shell('curl --silent http://localhost:8080/ || echo nobody listens')).toContain(
      'nobody listens',
    );
  });

  /** Minutes of a slow machine are seconds of a real one: the person asks for the page again where curl has given up. */
  async function type(block: string): Promise<string> {
    const [first, ask] = block.split(/(?=^curl )/mu);
    if (ask === undefined) return machine.shell(block);
    await machine.shell(first ?? '');
    return waitFor(() => machine.shell(ask).catch(() => undefined), { what: 'the page', ...PATIENCE });
  }
});

/** TLS at `address`, before the registry on loopback. */
async function serveWithTls(
  address: string,
  { key, cert }: { readonly key: string; readonly cert: string },
  { host }: Registry,
): Promise<Server> {
  const port = Number(host.split(':')[1]);
  const server = createServer({ key, cert }, (socket) => {
    const back = connect(port, '127.0.0.1');
    const end = () => {
      socket.destroy();
      back.destroy();
    };
    socket.on('error', end).on('close', end).pipe(back);
    back.on('error', end).on('close', end).pipe(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(443, address, resolve);
  });
  return server;
}
