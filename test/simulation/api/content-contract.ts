/** What an API server lets a node read of ConfigMaps, Secrets and Services. Held against the simulated one, and a real one. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Collection, ObjectReference } from '../../../src/agent/cluster/service/api-resources.ts';
import type { ConfigMap, PodSpec, Secret } from '../../../src/types/kubernetes.ts';
import type { ContractBed } from './api-contract.ts';
import { apiPod, pods, refusalOf } from './api-bed.ts';

const RESOURCES = ['configmaps', 'secrets'] as const;
type Resource = (typeof RESOURCES)[number];

const MAIN = { name: 'main', image: 'x' };
const NO_RELATIONSHIP = /^403 Forbidden .* no relationship found between node 'node-1' and this object/;
/** A real authorizer learns of a pod a moment later. */
const TRIES = 200;
let made = 0;

const REFERENCES: readonly (readonly [how: string, Resource, (name: string) => Partial<PodSpec>])[] = [
  ['a volume', 'configmaps', (name) => ({ volumes: [{ name: 'v', configMap: { name } }] })],
  ['a volume', 'secrets', (name) => ({ volumes: [{ name: 'v', secret: { secretName: name } }] })],
  [
    'a projected volume',
    'configmaps',
    (name) => ({ volumes: [{ name: 'v', projected: { sources: [{ configMap: { name } }] } }] }),
  ],
  [
    'a projected volume',
    'secrets',
    (name) => ({ volumes: [{ name: 'v', projected: { sources: [{ secret: { name } }] } }] }),
  ],
  [
    'all variables',
    'configmaps',
    (name) => ({ containers: [{ ...MAIN, envFrom: [{ configMapRef: { name } }] }] }),
  ],
  [
    'a variable of an init container',
    'secrets',
    (name) => {
      const env = [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'a' } } }];
      return { initContainers: [{ ...MAIN, name: 'init', env }] };
    },
  ],
  ['pulls of images', 'secrets', (name) => ({ imagePullSecrets: [{ name }] })],
];

/** `beds`: makes a bed before each test. Objects of other tests may still be there. */
export function holdsTheContractOfContents(beds: () => ContractBed | Promise<ContractBed>): void {
  let bed: ContractBed;
  let name: string;
  beforeEach(async () => {
    bed = await beds();
    made += 1;
    name = `content-${String(made)}`;
  });

  const done = <T>(answer: Promise<T>) => bed.settle(answer);
  const refused = (answer: Promise<unknown>) => bed.settle(refusalOf(answer));
  const all = (resource: Resource): Collection => ({ resource, namespace: 'default' });
  const at = (resource: Resource): ObjectReference => ({ ...all(resource), name });
  const object = (more: object = {}): ConfigMap & Secret => ({
    metadata: { name, namespace: 'default', uid: '' },
    data: { a: btoa('one') },
    ...more,
  });
  const readableInTime = async (target: ObjectReference) => {
    let answer = '';
    for (let tries = 0; tries < TRIES && answer !== 'done'; tries += 1)
      answer = await refused(bed.node.get(target));
    return answer;
  };

  describe('objects that pods refer to', () => {
    test.each(REFERENCES)(
      'may be read by the node of a pod that names them for %s (%s)',
      async (_, resource, spec) => {
        await done(bed.admin.create(all(resource), object()));
        expect(await refused(bed.node.get(at(resource)))).toMatch(NO_RELATIONSHIP);
        await done(bed.admin.create(pods, apiPod(`pod-of-${name}`, spec(name))));
        expect(await readableInTime(at(resource))).toBe('done');
        const own = { fieldSelector: `metadata.name=${name}` };
        expect((await done(bed.node.list(all(resource), own))).items).toHaveLength(1);
        await done(bed.admin.delete({ ...pods, name: `pod-of-${name}` }, { gracePeriodSeconds: 0 }));
      },
    );

    test('may not be read by the node of no such pod', async () => {
      await done(bed.admin.create(all('secrets'), object()));
      const spec = { nodeName: 'node-2', imagePullSecrets: [{ name }] };
      await done(bed.admin.create(pods, apiPod(`pod-of-${name}`, spec)));
      expect(await refused(bed.node.get(at('secrets')))).toMatch(NO_RELATIONSHIP);
      const own = { fieldSelector: `metadata.name=${name}` };
      expect(await refused(bed.node.list(all('secrets'), own))).toMatch(NO_RELATIONSHIP);
    });

    test.each(RESOURCES)('are not listed as a whole, and not changed (%s)', async (resource) => {
      expect(await refused(bed.node.list(all(resource)))).toMatch(/^403 .*No Object name found/);
      expect(await refused(bed.node.list({ resource }))).toMatch(
        /^403 .*can only read namespaced object of this type/,
      );
      const only = /^403 .*can only read resources of this type/;
      expect(await refused(bed.node.create(all(resource), object()))).toMatch(only);
      expect(await refused(bed.node.patch(at(resource), { data: {} }))).toMatch(only);
      expect(await refused(bed.node.delete(at(resource)))).toMatch(only);
    });

    test.each(RESOURCES)('keep their data once they are immutable (%s)', async (resource) => {
      await done(bed.admin.create(all(resource), object({ immutable: true })));
      const refusal =
        /^422 Invalid .* is invalid: data: Forbidden: field is immutable when `immutable` is set/;
      expect(await refused(bed.admin.patch(at(resource), { data: { a: btoa('two') } }))).toMatch(refusal);
      expect(await refused(bed.admin.patch(at(resource), { immutable: false }))).toMatch(
        /^422 Invalid .*: immutable: Forbidden/,
      );
      expect(await refused(bed.admin.patch(at(resource), { metadata: { labels: { a: 'b' } } }))).toBe('done');
      await done(bed.admin.delete(at(resource)));
      expect(await refused(bed.admin.create(all(resource), object()))).toBe('done');
    });
  });

  test('services are read by every node, and changed by none', async () => {
    const services = { resource: 'services' } as const;
    expect(await refused(bed.node.list(services, { fieldSelector: 'spec.clusterIP!=None' }))).toBe('done');
    expect(await refused(bed.node.delete({ ...services, namespace: 'default', name: 'web' }))).toMatch(
      /^403 .*cannot delete resource "services"/,
    );
  });
}
