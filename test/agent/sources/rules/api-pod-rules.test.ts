import { describe, expect, test } from '@jest/globals';
import { podWith, problemsOf } from '../support.ts';

describe('references to objects of the API server', () => {
  test.each([
    [{ serviceAccountName: 'robot' }, 'spec.serviceAccountName', 'serviceaccounts'],
    [{ imagePullSecrets: [{ name: 's' }] }, 'spec.imagePullSecrets', 'secrets'],
    [{ volumes: [{ name: 'v', configMap: { name: 'c' } }] }, 'spec.volumes[0].configMap', 'configmaps'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 's' } }] } }] },
      'spec.volumes[0].projected.sources[0].secret',
      'secrets',
    ],
    [
      { containers: [{ name: 'a', envFrom: [{ secretRef: { name: 's' } }] }] },
      'spec.containers[0].envFrom[0].secretRef',
      'secrets',
    ],
    [
      {
        containers: [
          { name: 'a', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
        ],
      },
      'spec.containers[0].env[0].valueFrom.configMapKeyRef',
      'configmaps',
    ],
  ])('%j', (spec, field, resource) => {
    expect(problemsOf(podWith(spec))).toEqual([`${field}: static pods may not reference ${resource}`]);
  });
});
