/** Objects are followed through everything that can go wrong between a node and its API server. */
import { expect, test } from '@jest/globals';
import { Subject } from 'rxjs';
import type { ConfigObjectReference } from '../../../../src/agent/cluster/objects/object-references.ts';
import { ServerObjects } from '../../../../src/agent/cluster/objects/server-objects.ts';
import { type ApiFaults, NO_API_FAULTS } from '../../../../src/simulation/api/api-faults.ts';
import { keyedRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { ConfigMap, Pod } from '../../../../src/types/kubernetes.ts';
import { ApiBed, apiPod, nodeObject, podAt, pods } from '../../../simulation/api/api-bed.ts';
import { testContext } from '../../../support/test-context.ts';

const FAULTS: ApiFaults = {
  fail: 0.2,
  lostAnswer: 0.05,
  hang: 0.05,
  slow: 0.1,
  lateEvents: 0.1,
  brokenWatch: 0.7,
  oldList: 0.5,
  lateRights: 0.2,
};
const OBJECTS = ['one', 'two', 'three'];
const PODS = ['a', 'b', 'c', 'd'];
const STEPS = 100;
/** Longer than a watch that fell silent lasts, a list and all back-offs. */
const QUIET_MS = 3 * 3_600_000;
const SYNC_MS = 60_000;

const configMaps = { resource: 'configmaps', namespace: 'default' } as const;
const objectAt = (name: string): ConfigObjectReference => ({ ...configMaps, name });

/** What pods do that are synced at once when they are told to be, and else every minute. */
class Readers {
  readonly objects: ServerObjects;
  /** What each pod has read last of each object. */
  readonly found = new Map<string, Map<string, string>>();
  readonly recovered = new Subject<undefined>();
  readonly #bed: ApiBed;
  readonly #pods = new Map<string, Pod>();

  constructor(bed: ApiBed, random: () => number) {
    this.#bed = bed;
    const { clock, node: api } = bed;
    const context = { ...testContext({ clock, random }), recovered: this.recovered };
    this.objects = new ServerObjects(context, { api, syncFrequencyMs: SYNC_MS });
    this.objects.changes.subscribe((uid) => void this.sync(uid));
  }

  add(pod: Pod): void {
    this.#pods.set(pod.metadata.uid, pod);
    void this.sync(pod.metadata.uid);
  }

  end(uid: string): void {
    this.#pods.delete(uid);
    this.found.delete(uid);
    this.objects.forgetPod(uid);
  }

  async sync(uid: string): Promise<void> {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.objects.registerPod(pod);
    const found = new Map<string, string>();
    for (const name of OBJECTS.filter((object) => refersTo(pod, object))) {
      const object = await this.objects.configMap('default', name).catch(() => 'unknown' as const);
      found.set(name, object === 'unknown' ? object : (object?.metadata?.resourceVersion ?? 'absent'));
    }
    if (!this.#pods.has(uid)) return;
    this.found.set(uid, found);
    if ([...found.values()].includes('unknown')) this.#again(uid);
  }

  /** Every pod reads again, as it does when its sync is due. */
  syncAll(): void {
    for (const uid of this.#pods.keys()) void this.sync(uid);
  }

  #again(uid: string): void {
    this.#bed.clock.setTimeout(() => void this.sync(uid), 10_000);
  }
}

function refersTo({ spec }: Pod, name: string): boolean {
  return spec.containers[0]?.envFrom?.some(({ configMapRef }) => configMapRef?.name === name) === true;
}

function configMap(name: string): ConfigMap & { metadata: { name: string } } {
  return { metadata: { name, namespace: 'default' }, data: {} };
}

function podWith(name: string, objects: readonly string[]): Pod {
  const envFrom = objects.map((object) => ({ configMapRef: { name: object } }));
  return apiPod(name, { containers: [{ name: 'main', image: 'x', envFrom }] });
}

test.each(Array.from({ length: 10 }, (_, seed) => seed))(
  'in the end each pod has read the present state of each of its objects, and nothing is watched without a pod (seed %d)',
  async (seed) => {
    const random = keyedRandom(seed);
    const bed = new ApiBed((key) => random(key));
    const { server, clock } = bed;
    const { operations, store } = server;
    operations.create({ resource: 'nodes' }, nodeObject());
    let asked = 0;
    const readers = new Readers(bed, () => random(`reader/${asked++}`));
    const stored = (name: string) => store.get('configmaps', objectAt(name)) as ConfigMap | undefined;

    const changeObject = (name: string, chance: number) => {
      if (!stored(name)) operations.create(configMaps, configMap(name));
      else if (chance < 0.3) operations.delete(objectAt(name), {});
      else operations.patch(objectAt(name), { data: { value: String(chance) } });
    };
    const changePod = (name: string, chance: number) => {
      const known = store.get('pods', podAt(name)) as Pod | undefined;
      if (known === undefined) {
        const objects = OBJECTS.filter((object) => random(`${seed}/${name}/${object}/${chance}`) < 0.6);
        readers.add(operations.create(pods, podWith(name, objects)) as Pod);
      } else if (chance < 0.2) {
        readers.end(known.metadata.uid);
        operations.delete(podAt(name), { gracePeriodSeconds: 0 });
      }
    };

    bed.faults = FAULTS;
    for (let step = 0; step < STEPS; step += 1) {
      const chance = (question: string) => random(`${step}/${question}`);
      const pick = (names: readonly string[]) => names[Math.floor(chance('which') * names.length)] ?? '';
      const what = chance('what');
      if (what < 0.1) server.goDownFor(90_000 * chance('down'), { forgetful: false });
      else if (what < 0.15) store.compact();
      else if (what < 0.2) readers.recovered.next(undefined);
      else if (what < 0.6) changeObject(pick(OBJECTS), chance('how'));
      else changePod(pick(PODS), chance('how'));
      if (step % 3 === 0) readers.syncAll();
      await clock.advance(20_000 * chance('pause') ** 2);
    }
    bed.faults = NO_API_FAULTS;
    readers.syncAll();
    await clock.advance(QUIET_MS);
    readers.syncAll();
    await clock.advance(2_000);
    // From here on nothing is read unless a pod is told.
    for (const name of OBJECTS) changeObject(name, 0.5);
    await clock.advance(SYNC_MS);
    for (const found of readers.found.values())
      for (const [name, version] of found)
        expect(version).toBe(stored(name)?.metadata?.resourceVersion ?? 'absent');

    for (const uid of [...readers.found.keys()]) readers.end(uid);
    await clock.advance(SYNC_MS);
    readers.objects.close();
    expect([...server.watches]).toEqual([]);
  },
);
