import { describe, expect, test } from '@jest/globals';
import {
  type AgentFacts,
  agentFindings,
  isKubelet,
  isStatelet,
  rootDirOf,
  sharesRuntime,
} from '../../../src/doctor/policies/agent-findings.ts';

const SOCKET = 'unix:///run/containerd/containerd.sock';
const agent = (command: string) => ({ pid: 7, command: command.split(' ') });

describe('command lines', () => {
  test.each([
    ['/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml', true, false],
    ['node --v8-pool-size=1 /usr/local/bin/statelet run --config x', false, true],
    ['/opt/statelet/node/node --v8-pool-size=1 /opt/statelet/bin/statelet.js run-once', false, true],
    ['/opt/statelet/node/node /opt/statelet/node/kubelet --config x', false, true],
    ['node /usr/local/bin/statelet doctor', false, false],
    ['vi /usr/bin/kubelet', false, false],
    ['node server.js run', false, false],
    ['kubelet-wrapper', false, false],
  ])('%s: kubelet %s, Statelet %s', (command, kubelet, statelet) => {
    expect([isKubelet(agent(command)), isStatelet(agent(command))]).toEqual([kubelet, statelet]);
  });

  test('the root folder, in both forms of a flag', () => {
    expect(rootDirOf(agent('statelet run --root-dir /a'))).toBe('/a');
    expect(rootDirOf(agent('statelet run --root-dir=/b'))).toBe('/b');
    expect(rootDirOf(agent('statelet run'))).toBeUndefined();
  });

  test.each([
    [`run --container-runtime-endpoint ${SOCKET}`, 'yes'],
    ['run --container-runtime-endpoint=unix:///other', 'no'],
    ['run --config file', 'unknown'],
    ['run', 'no'],
  ])('%s has the same runtime: %s', (command, expected) => {
    expect(sharesRuntime(agent(command), SOCKET)).toBe(expected);
  });
});

describe('other agents', () => {
  const findings = (facts: Partial<AgentFacts>) =>
    agentFindings({
      kubelets: [],
      others: [],
      lock: { value: { isHeld: false, holder: undefined } },
      rootDir: '/var/lib/statelet',
      endpoint: SOCKET,
      ...facts,
    });

  test('there are none, or the daemon of this root folder', () => {
    expect(findings({})).toMatchObject([{ check: 'other-agents', status: 'ok' }]);
    expect(findings({ lock: { value: { isHeld: true, holder: 7 } } })).toMatchObject([
      { status: 'ok', message: 'Statelet runs with /var/lib/statelet (pid 7), and no other agent' },
    ]);
  });

  test('a kubelet would end the pods of real containers, and does nothing to plain processes', () => {
    const kubelets = [agent('/usr/bin/kubelet')];
    expect(findings({ kubelets })).toMatchObject([
      { status: 'error', mend: 'systemctl disable --now kubelet (or end pid 7)' },
    ]);
    expect(findings({ kubelets, endpoint: 'embedded' })).toMatchObject([{ status: 'warning' }]);
  });

  test('another Statelet with the same runtime is an error, one that may have it a warning', () => {
    const other = (flags: string) => findings({ others: [agent(`node statelet run ${flags}`)] });
    expect(other(`--container-runtime-endpoint ${SOCKET}`)).toMatchObject([{ status: 'error' }]);
    expect(other('--config file')).toMatchObject([{ status: 'warning' }]);
    expect(other('')).toMatchObject([{ status: 'ok' }]);
    const others = [agent(`node statelet run --container-runtime-endpoint ${SOCKET}`)];
    expect(findings({ others, endpoint: 'embedded' })).toMatchObject([{ status: 'ok' }]);
  });

  test('a root folder that cannot be looked at', () => {
    const read = (isForbidden: boolean) => findings({ lock: { problem: 'is not a file', isForbidden } });
    expect([read(false), read(true)]).toMatchObject([[{ status: 'error' }], [{ status: 'unknown' }]]);
  });
});
