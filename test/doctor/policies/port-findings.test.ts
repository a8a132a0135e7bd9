import { describe, expect, test } from '@jest/globals';
import {
  isInTheWay,
  listeningSockets,
  type PortFacts,
  portFindings,
} from '../../../src/doctor/policies/port-findings.ts';

const TCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2808 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000000000000000 100 0 0 10 0
   1: 0100007F:280A 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 4712 1
nonsense
`;

describe('listening sockets', () => {
  const [loopback] = listeningSockets(TCP, { isIPv6: false });

  test('only those that listen, with port, address and inode', () => {
    expect(listeningSockets(TCP, { isIPv6: false })).toEqual([
      { port: 10_248, address: '0100007F', isIPv6: false, inode: '4711' },
    ]);
  });

  test.each([
    ['127.0.0.1', 10_248, true],
    ['0.0.0.0', 10_248, true],
    ['10.0.0.1', 10_248, false],
    ['localhost', 10_248, true],
    ['127.0.0.1', 10_249, false],
  ])('one at 127.0.0.1:10248 is in the way of %s:%i: %s', (host, port, expected) => {
    expect(loopback && isInTheWay(loopback, host, port)).toBe(expected);
  });

  test('one at any address of IPv6 is in the way of all', () => {
    const any = { port: 80, address: '0'.repeat(32), isIPv6: true, inode: '1' };
    expect(isInTheWay(any, '127.0.0.1', 80)).toBe(true);
  });
});

describe('ports', () => {
  const healthz = { what: 'healthz', flag: '--healthz-port', host: '127.0.0.1', port: 10_248 };
  const findings = (facts: Partial<PortFacts>) =>
    portFindings({
      wanted: [healthz],
      sockets: { value: listeningSockets(TCP, { isIPv6: false }) },
      holders: new Map(),
      ownPid: undefined,
      ...facts,
    });

  test('that are free', () => {
    expect(findings({ sockets: { value: [] } })).toEqual([
      { check: 'ports', status: 'ok', message: 'free: 10248 (healthz)' },
    ]);
    expect(findings({ wanted: [] })).toMatchObject([{ status: 'ok', message: 'none is opened' }]);
  });

  test('that another process has: with its name, and the flag that gives another one', () => {
    const holders = new Map([['4711', { pid: 7, command: '/usr/bin/kubelet --config' }]]);
    expect(findings({ holders })).toMatchObject([
      {
        status: 'error',
        message: '/usr/bin/kubelet --config (pid 7) has 127.0.0.1:10248, which is for healthz',
        mend: 'end pid 7, or give another port by --healthz-port',
      },
    ]);
  });

  test('that a process has which this user cannot see', () => {
    expect(findings({})).toMatchObject([{ status: 'error', mend: expect.stringContaining('ss -ltnp') }]);
  });

  test('that the daemon of this root folder has', () => {
    const holders = new Map([['4711', { pid: 7, command: 'node' }]]);
    expect(findings({ holders, ownPid: 7 })).toMatchObject([
      { status: 'ok', message: expect.stringContaining('Statelet has') },
    ]);
    expect(findings({ holders, ownPid: 8 })).toMatchObject([{ status: 'error' }]);
    expect(findings({ ownPid: 7 })).toMatchObject([{ status: 'ok' }]);
  });

  test('of which nothing can be read', () => {
    expect(findings({ sockets: { problem: 'does not exist', isForbidden: false } })).toMatchObject([
      { status: 'error' },
    ]);
  });
});
