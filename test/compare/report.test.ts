import { describe, expect, test } from '@jest/globals';
import type { Difference } from '../../scripts/compare/differences.ts';
import { type ComparisonReport, grouped, textReport } from '../../scripts/compare/report.ts';

const status = (manifest: string, container: string): Difference => ({
  manifest,
  area: 'status',
  path: `containerStatuses/[${container}]/ready`,
  kubelet: 'true',
  statelet: 'false',
});
const meantEntry = { area: 'files', path: 'plugins', reason: 'a record of its own' };
const idleEntry = { area: 'cgroups', path: 'pids.max', reason: 'was different once' };
const report: ComparisonReport = {
  manifests: 3,
  equal: 1,
  unexpected: [status('a', 'main'), status('b', 'other')],
  meant: [{ entry: meantEntry, differences: [status('a', 'main')] }],
  idle: [idleEntry],
  unsettled: { kubelet: ['default/a-node-a'], statelet: [] },
  idleCalls: {
    kubelet: { seconds: 10, counts: { ListContainers: 17, Version: 1 } },
    statelet: { seconds: 10, counts: {} },
  },
};

describe('the report of a comparison', () => {
  test('reports a difference of several manifests once, whichever container it is of', () => {
    expect(grouped(report.unexpected)).toEqual([
      {
        area: 'status',
        path: 'containerStatuses/[*]/ready',
        kubelet: 'true',
        statelet: 'false',
        manifests: ['a', 'b'],
      },
    ]);
  });

  test('keeps differences apart that have other values', () => {
    const other = { ...status('b', 'main'), kubelet: undefined };
    expect(grouped([status('a', 'main'), other])).toHaveLength(2);
  });

  test('shows both values, what is meant and why, what matches nothing, and who did not come to rest', () => {
    expect(textReport(report)).toBe(`
status:
  a, b: containerStatuses/[*]/ready
    kubelet   true
    statelet  false

meant:
  files plugins (1): a record of its own

entries of the list of meant differences that match nothing:
  cgroups pids.max: was different once

not at rest in time (kubelet): default/a-node-a

calls a minute while pods were at rest (kubelet): 108 (ListContainers 102, Version 6)
calls a minute while pods were at rest (statelet): 0
3 manifests: 1 equal, 2 differ in 2 values (1 kinds)`);
  });

  test('has no line about calls when no time was given to count them', () => {
    const uncounted = { seconds: 0, counts: {} };
    const text = textReport({ ...report, idleCalls: { kubelet: uncounted, statelet: uncounted } });
    expect(text).not.toContain('calls a minute');
  });
});
