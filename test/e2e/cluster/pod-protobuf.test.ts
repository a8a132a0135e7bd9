/**
 * Pods in protocol buffers, as a real API server reads and writes them. They are put into its store, so that it checks nothing and every
 * field can have any value. With RECORD_PODS, what it writes becomes the fixture of the tests without a control plane.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { podMessage } from '../../../src/agent/plugins/protocol/pod-message.ts';
import { without } from '../../../src/agent/policies/formats/canonical-json.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { describeOnControlPlane } from '../../support/control-plane.ts';
import { StoredPods } from '../../support/stored-pods.ts';
import { podOfAllFields, podOfZeros, randomPod, ROWS, rowsOf } from '../../support/table-pods.ts';

type Json = Record<string, unknown>;

const FIXTURE = fileURLToPath(new URL('../../agent/plugins/protocol/server-pods.jsonl', import.meta.url));
const RANDOM_PODS = 60;
const RECORDED_PODS = 4;

const run = promisify(execFile);
const encode = (pod: Json) => podMessage.encode(pod as unknown as Pod);
const decode = (bytes: Buffer) => podMessage.decode(bytes) as unknown as Json;

/** The names of fields of the server's own description of a pod, by definition. */
interface Definition {
  readonly properties?: Readonly<Record<string, unknown>>;
}

const NEEDS_REAL = { needsReal: 'it compares the bytes that a real server stores in etcd' };

describeOnControlPlane('pods in protocol buffers', NEEDS_REAL, (controlPlane) => {
  const named = (pod: Json, name: string): Json => ({
    ...pod,
    metadata: { ...(pod.metadata as Json), name, namespace: 'default', resourceVersion: '' },
  });
  const withoutNames = (pod: Json): Json => ({
    ...pod,
    metadata: without(pod.metadata as Json, ['name', 'resourceVersion']),
  });

  const cases = [
    ['with every field', podOfAllFields()],
    ['of zeros', podOfZeros()],
    ...Array.from({ length: RANDOM_PODS }, (_, seed) => [`of seed ${seed}`, randomPod(seededRandom(seed))]),
  ] as [string, Json][];

  test.each(cases)('a pod %s: the server reads our bytes like its JSON', async (_, pod) => {
    const stored = new StoredPods(controlPlane);
    await stored.writeJson('as-json', named(pod, 'as-json'));
    await stored.writeBytes('as-bytes', encode(named(pod, 'as-bytes')));
    expect(withoutNames(await stored.readJson('as-bytes'))).toEqual(
      withoutNames(await stored.readJson('as-json')),
    );
  });

  test.each(cases)('a pod %s: we read its bytes like its JSON', async (_, pod) => {
    const stored = new StoredPods(controlPlane);
    await stored.writeJson('as-json', named(pod, 'as-json'));
    const json = without(await stored.readJson('as-json'), ['apiVersion', 'kind']);
    expect(decode(await stored.readBytes('as-json'))).toStrictEqual(json);
  });

  test('the server keeps every field that the table has', async () => {
    const stored = new StoredPods(controlPlane);
    await stored.writeJson('as-json', named(podOfAllFields(), 'as-json'));
    const json = await stored.readJson('as-json');
    expect(missingIn(json, podOfAllFields())).toEqual([]);
  });

  test('the table has every field that the server describes', async () => {
    const stored = new StoredPods(controlPlane);
    const { components } = JSON.parse(
      (await stored.get('/openapi/v3/api/v1', 'application/json')).toString(),
    ) as {
      readonly components: { readonly schemas: Readonly<Record<string, Definition>> };
    };
    const described = new Map(
      Object.entries(components.schemas).map(([name, { properties = {} }]) => [
        name.replace(/^.*\./, ''),
        Object.keys(properties).sort(),
      ]),
    );
    const compared = Object.keys(ROWS).filter((name) => described.has(name));
    expect(compared.length).toBeGreaterThan(100);
    for (const name of compared) {
      const own = new Set(['apiVersion', 'kind']);
      const wanted = described.get(name)?.filter((field) => name !== 'Pod' || !own.has(field));
      expect([name, jsonNames(name).sort()]).toEqual([name, wanted]);
    }
  });

  test('the table is that of this release', async () => {
    const script = fileURLToPath(new URL('../../../scripts/update-pod-protobuf.ts', import.meta.url));
    await run(process.execPath, ['--disable-warning=ExperimentalWarning', script, '--check']);
  });

  const recording = process.env.RECORD_PODS === undefined ? test.skip : test;
  recording('the fixture is recorded', async () => {
    const stored = new StoredPods(controlPlane);
    const recorded = [];
    for (const [, pod] of cases.slice(0, RECORDED_PODS)) {
      await stored.writeJson('recorded', named(pod, 'recorded'));
      const bytes = await stored.readBytes('recorded');
      const json = await stored.readJson('recorded');
      recorded.push(`${JSON.stringify({ json, bytes: bytes.toString('base64') })}\n`);
    }
    writeFileSync(FIXTURE, recorded.join(''));
  });
});

function jsonNames(message: string): string[] {
  return Object.entries(rowsOf(message)).flatMap(([name, row]) =>
    name.startsWith('...') ? jsonNames(row.replace(/^\d+ /, '')) : [name],
  );
}

/** Paths of the wanted value that the other one does not have. */
function missingIn(value: unknown, wanted: unknown, path = ''): string[] {
  if (value === undefined) return [path];
  if (typeof wanted !== 'object' || wanted === null) return [];
  return Object.entries(wanted).flatMap(([key, inner]) =>
    missingIn((value as Json)[key], inner, `${path}.${key}`),
  );
}
