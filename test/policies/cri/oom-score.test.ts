import { describe, expect, test } from '@jest/globals';
import { oomScoreAdj } from '../../../src/policies/cri/oom-score.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';

const CAPACITY_BYTES = 1000 * 2 ** 20;

const asking = (name: string, memory?: string, more: Partial<Container> = {}): Container => ({
  name,
  resources: { requests: { cpu: '1m', ...(memory && { memory }) } },
  ...more,
});

function podOf(spec: Partial<Pod['spec']>, annotations?: Record<string, string>): Pod {
  const base = testPod({ ...(annotations && { annotations }) });
  return { ...base, spec: { ...base.spec, ...spec } };
}

/** The score of the container of that name. */
function scoreOf(name: string, spec: Partial<Pod['spec']>): number {
  const pod = podOf(spec);
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const container = all.find((candidate) => candidate.name === name);
  if (!container) throw new Error(`no container ${name}`);
  return oomScoreAdj(pod, container, CAPACITY_BYTES);
}

describe('the class', () => {
  test('Guaranteed containers are killed last, BestEffort ones first', () => {
    const limits = { cpu: '1', memory: '10Mi' };
    const guaranteed: Container = { name: 'a', resources: { limits, requests: limits } };
    expect(scoreOf('a', { containers: [guaranteed] })).toBe(-997);
    expect(scoreOf('a', { containers: [{ name: 'a' }] })).toBe(1000);
  });

  test('a node-critical pod is killed last, whatever its class', () => {
    const file = { 'kubernetes.io/config.source': 'file' };
    const containers: Container[] = [{ name: 'a' }];
    const critical = podOf({ containers, priorityClassName: 'system-node-critical' }, file);
    expect(oomScoreAdj(critical, { name: 'a' }, CAPACITY_BYTES)).toBe(-997);
    const ordinary = podOf({ containers, priorityClassName: 'system-cluster-critical' }, file);
    expect(oomScoreAdj(ordinary, { name: 'a' }, CAPACITY_BYTES)).toBe(1000);
  });
});

describe('burstable containers', () => {
  test.each([
    [undefined, 999],
    ['1', 999],
    ['1Mi', 999],
    ['10Mi', 990],
    ['105Mi', 895],
    ['999Mi', 3],
    ['5000Mi', 3],
  ])('that request %s of 1000Mi have %d', (memory, score) => {
    expect(scoreOf('a', { containers: [asking('a', memory)] })).toBe(score);
  });

  test('share what the pod itself requests beyond them', () => {
    const containers = [asking('a', '100Mi'), asking('b')];
    const spec = { containers, resources: { requests: { memory: '300Mi' } } };
    expect([scoreOf('a', spec), scoreOf('b', spec)]).toEqual([800, 900]);
  });

  test('have the same score if the pod itself requests only CPU', () => {
    const spec = { containers: [asking('a', '100Mi')], resources: { requests: { cpu: '1', memory: '0' } } };
    expect(scoreOf('a', spec)).toBe(900);
  });
});

describe('a sidecar', () => {
  const always = { restartPolicy: 'Always' };

  test('is killed no sooner than the regular container with the least request', () => {
    const containers = [asking('a', '300Mi'), asking('b', '200Mi')];
    const initContainers = [asking('small', '10Mi', always), asking('large', '400Mi', always)];
    const spec = { containers, initContainers };
    expect([scoreOf('small', spec), scoreOf('large', spec)]).toEqual([800, 600]);
  });

  test('an init container that is no sidecar has its own score', () => {
    const spec = { containers: [asking('a', '300Mi')], initContainers: [asking('init', '10Mi')] };
    expect(scoreOf('init', spec)).toBe(990);
  });
});
