import { describe, expect, test } from '@jest/globals';
import { priorityProblem, withPriority } from '../../../src/sources/defaults/priority-defaults.ts';

const containers = [{ name: 'main' }];

describe('the priority of an ordinary pod', () => {
  test.each([
    [{}, 0],
    [{ priority: 7 }, 7],
    [{ priorityClassName: '' }, 0],
    [{ priorityClassName: 'system-node-critical' }, 2_000_001_000],
    [{ priorityClassName: 'system-cluster-critical' }, 2_000_000_000],
    [{ priorityClassName: 'system-node-critical', priority: 2_000_001_000 }, 2_000_001_000],
    [{ priorityClassName: 'gold', priority: 1000 }, 1000],
  ])('%j is %d', (spec, priority) => {
    expect(priorityProblem(spec)).toBeUndefined();
    expect(withPriority({ containers, ...spec })).toMatchObject({
      priority,
      preemptionPolicy: 'PreemptLowerPriority',
    });
  });

  test('has to be named where only an API server knows the class', () => {
    expect(priorityProblem({ priorityClassName: 'gold' })).toEqual({
      field: 'priorityClassName',
      message:
        '"gold" is not known without an API server (known are system-node-critical and system-cluster-critical): add its number as spec.priority',
    });
  });

  test('cannot be another one than that of a known class', () => {
    expect(priorityProblem({ priorityClassName: 'system-cluster-critical', priority: 5 })).toEqual({
      field: 'priority',
      message: 'must be that of system-cluster-critical, 2000000000, or be left out',
    });
  });

  test('a policy of the manifest stays', () => {
    expect(withPriority({ containers, preemptionPolicy: 'Never' }).preemptionPolicy).toBe('Never');
  });
});
