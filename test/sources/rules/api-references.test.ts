import { describe, expect, test } from '@jest/globals';
import { podWith, problemsOf } from '../support.ts';

describe('references to objects of the API server', () => {
  const refused = 'a pod of a file or URL cannot refer to objects of the API server';

  test.each([
    [{ serviceAccountName: 'robot' }, 'spec.serviceAccountName'],
    [{ imagePullSecrets: [{ name: 's' }] }, 'spec.imagePullSecrets'],
    [{ volumes: [{ name: 'v', configMap: { name: 'c' } }] }, 'spec.volumes[0].configMap'],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 's' } }] } }] },
      'spec.volumes[0].projected.sources[0].secret',
    ],
    [
      { containers: [{ name: 'a', envFrom: [{ secretRef: { name: 's' } }] }] },
      'spec.containers[0].envFrom[0].secretRef',
    ],
    [
      {
        containers: [
          { name: 'a', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
        ],
      },
      'spec.containers[0].env[0].valueFrom.configMapKeyRef',
    ],
  ])('%j', (spec, field) => {
    expect(problemsOf(podWith(spec))).toEqual([`${field}: ${refused}`]);
  });
});
