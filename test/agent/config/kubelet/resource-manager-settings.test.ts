import { describe, expect, test } from '@jest/globals';
import { checkResourceManagers } from '../../../../src/agent/config/kubelet/resource-manager-settings.ts';
import { ALL_NODE_SETTINGS, resolveNodeSettings } from '../../../../src/agent/config/load-node-settings.ts';
import { parseSetting } from '../../../../src/agent/config/setting.ts';

const resolve = (file: Record<string, unknown>) =>
  resolveNodeSettings({ flags: {}, file, fileName: 'kubelet.yaml' });
const parse = (field: string, text: string) =>
  parseSetting(
    ALL_NODE_SETTINGS.find((row) => row.field === field)!,
    text,
  );

describe('one by one', () => {
  test('options are read from a flag and from the file', () => {
    const options = { 'full-pcpus-only': 'true', 'strict-cpu-reservation': 'f' };
    expect(parse('cpuManagerPolicyOptions', 'full-pcpus-only=true,strict-cpu-reservation=f')).toEqual(
      options,
    );
    expect(resolve({ cpuManagerPolicyOptions: options }).cpuManagerPolicyOptions).toEqual(options);
    expect(parse('topologyManagerPolicyOptions', 'max-allowable-numa-nodes=12')).toEqual({
      'max-allowable-numa-nodes': '12',
    });
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['another CPU policy', { cpuManagerPolicy: 'Static' }, 'one of none, static'],
    ['another topology policy', { topologyManagerPolicy: 'strict' }, 'best-effort'],
    ['another scope', { topologyManagerScope: 'node' }, 'one of container, pod'],
    ['CPUs that are none', { reservedSystemCPUs: '3-1' }, 'CPUs such as 0-3,5'],
    ['an unknown option', { cpuManagerPolicyOptions: { fast: 'true' } }, 'options of: align-by-socket'],
    [
      'an option without a truth value',
      { cpuManagerPolicyOptions: { 'full-pcpus-only': '2' } },
      'true or false',
    ],
    [
      'options that contradict each other',
      { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true' } },
      'full-pcpus-only and distribute-cpus-across-cores do not',
    ],
    [
      'fewer NUMA nodes than 8',
      { topologyManagerPolicyOptions: { 'max-allowable-numa-nodes': '7' } },
      '8 or more',
    ],
    [
      'a topology option that is none',
      { topologyManagerPolicyOptions: { closest: 'true' } },
      'options of: prefer-',
    ],
    [
      'a topology option without a truth value',
      { topologyManagerPolicyOptions: { 'prefer-closest-numa-nodes': 'maybe' } },
      'true or false for prefer-closest-numa-nodes',
    ],
  ])('%s is refused', (_, file, problem) => {
    expect(() => resolve(file)).toThrow(problem);
  });

  test('options that contradict each other are fine where one is off', () => {
    const options = { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'false' };
    expect(resolve({ cpuManagerPolicyOptions: options }).cpuManagerPolicyOptions).toEqual(options);
  });
});

describe('together', () => {
  const check = (file: Record<string, unknown>, gates: readonly string[] = []) =>
    checkResourceManagers(resolve(file), (gate) => gates.includes(gate), 'kubelet.yaml');
  const static_ = (option: string) => ({
    cpuManagerPolicy: 'static',
    cpuManagerPolicyOptions: { [option]: 'true' },
  });

  test.each<[string, Record<string, unknown>, readonly string[], string]>([
    ['an alpha option without its gate', static_('align-by-socket'), [], 'CPUManagerPolicyAlphaOptions'],
    [
      'a beta option without its gate',
      static_('distribute-cpus-across-numa'),
      [],
      'CPUManagerPolicyBetaOptions',
    ],
    [
      'options without the static policy',
      { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
      [],
      'need cpuManagerPolicy static',
    ],
    [
      'alignment by socket for one NUMA node',
      { ...static_('align-by-socket'), topologyManagerPolicy: 'single-numa-node' },
      ['CPUManagerPolicyAlphaOptions'],
      'contradicts topologyManagerPolicy single-numa-node',
    ],
    [
      'reserved CPUs beside a group of daemons',
      { reservedSystemCPUs: '0', kubeReservedCgroup: '/kube' },
      [],
      "can't be used with systemReservedCgroup or kubeReservedCgroup",
    ],
  ])('%s is refused, with the name of the file', (_, file, gates, problem) => {
    expect(() => check(file, gates)).toThrow(`kubelet.yaml: `);
    expect(() => check(file, gates)).toThrow(problem);
  });

  test('what fits is accepted', () => {
    expect(() => check(static_('full-pcpus-only'))).not.toThrow();
    expect(() => check(static_('align-by-socket'), ['CPUManagerPolicyAlphaOptions'])).not.toThrow();
    expect(() => check({ cpuManagerPolicy: 'static', reservedSystemCPUs: '0' })).not.toThrow();
  });
});
