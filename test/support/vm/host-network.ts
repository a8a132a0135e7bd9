/** The network between a virtual machine and this host. The machine reaches what the host reaches. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const run = promisify(execFile);

export class HostNetwork {
  readonly tap: string;
  /** Of the machine. */
  readonly address: string;
  /** Of this host. */
  readonly gateway: string;
  readonly nameservers = readFileSync('/etc/resolv.conf', 'utf8')
    .split('\n')
    .flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
  readonly #subnet: string;

  private constructor(third: number) {
    const subnet = `10.88.${third}`;
    this.tap = `statelet${third}`;
    this.gateway = `${subnet}.1`;
    this.address = `${subnet}.2`;
    this.#subnet = `${subnet}.0/24`;
  }

  static async open(): Promise<HostNetwork> {
    const network = new HostNetwork(randomBytes(1)[0] ?? 0);
    const { tap, gateway } = network;
    await run('ip', ['tuntap', 'add', 'dev', tap, 'mode', 'tap']);
    await run('ip', ['address', 'add', `${gateway}/24`, 'dev', tap]);
    await run('ip', ['link', 'set', tap, 'up']);
    await run('sysctl', ['-qw', 'net.ipv4.ip_forward=1']);
    for (const rule of network.#rules('-A')) await run('iptables', rule);
    return network;
  }

  async close(): Promise<void> {
    for (const rule of this.#rules('-D')) await run('iptables', rule).catch(() => undefined);
    await run('ip', ['link', 'delete', this.tap]).catch(() => undefined);
  }

  #rules(change: '-A' | '-D'): string[][] {
    return [
      ['-t', 'nat', change, 'POSTROUTING', '-s', this.#subnet, '!', '-d', this.#subnet, '-j', 'MASQUERADE'],
      [change, 'FORWARD', '-i', this.tap, '-j', 'ACCEPT'],
      [change, 'FORWARD', '-o', this.tap, '-j', 'ACCEPT'],
    ];
  }
}
