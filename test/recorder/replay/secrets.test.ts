/** A whole simulated run whose pods carry a secret wherever a pod can have one: the record has none of it. */
import { expect, test } from '@jest/globals';
import { RecordWriter } from '../../../src/recorder/policies/record-format.ts';
import { isPod } from '../../../src/recorder/policies/recorded-data.ts';
import { ALL_FAULTS } from '../../../src/simulation/plan/fault-kinds.ts';
import { simulate } from '../../../src/simulation/simulation.ts';
import type { ActorStep } from '../../../src/types/transition.ts';

const SECRET = 'hunter2-of-the-test';

/** A copy in which each pod and each container has the secret. */
function withSecrets(value: unknown, name = ''): unknown {
  if (typeof value !== 'object' || value === null || 'getSnapshot' in value) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => withSecrets(item));
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, withSecrets(item)]));
  if (value instanceof Set) return value;
  const entries = Object.entries(value) as [string, unknown][];
  const copy = Object.fromEntries(entries.map(([field, item]) => [field, withSecrets(item, field)]));
  if (name === 'container') return withSecretsOfContainer(copy);
  if (!isPod(value)) return copy;
  const { metadata, spec, status } = value;
  return {
    ...copy,
    metadata: {
      ...metadata,
      labels: { secret: SECRET },
      annotations: { ...metadata.annotations, 'example.com/config': SECRET },
    },
    spec: {
      ...spec,
      containers: spec.containers.map(withSecretsOfContainer),
      volumes: [{ name: 'v', secret: { secretName: SECRET } }],
      imagePullSecrets: [{ name: SECRET }],
    },
    status: { ...status, message: SECRET, conditions: [{ type: 'A', status: 'True', message: SECRET }] },
  };
}

function withSecretsOfContainer(container: object): object {
  const probe = 'livenessProbe' in container ? container.livenessProbe : undefined;
  return {
    ...container,
    image: SECRET,
    env: [{ name: 'A', value: SECRET }],
    envFrom: [{ secretRef: { name: SECRET } }],
    command: [SECRET],
    args: [SECRET],
    livenessProbe: { ...(probe as object), exec: { command: [SECRET] } },
    lifecycle: { preStop: { httpGet: { httpHeaders: [{ name: 'A', value: SECRET }] } } },
  };
}

/** Figures of eviction are BigInts. */
function textOf(event: unknown): string {
  return JSON.stringify(event, (_key, member: unknown) =>
    typeof member === 'bigint' ? String(member) : member,
  );
}

test('a secret in every place of every pod and container that a chart sees is not recorded', async () => {
  const writer = new RecordWriter({ program: '1', pid: 1, node: 'n' });
  writer.begin(0);
  const charts = new Set<string>();
  const given = { secrets: 0 };
  await simulate({
    ...{ seed: 4, nodes: 1, pods: 6, hours: 0.5, faults: ALL_FAULTS },
    listen: () => (kind, actor, atMs, step) => {
      charts.add(kind.chart);
      const event = withSecrets(step.event);
      const of = ({ value, context }: ActorStep['before']) => ({ value, context: withSecrets(context) });
      const [before, after] = [of(step.before), of(step.after)];
      if (textOf(event).includes(SECRET)) given.secrets += 1;
      writer.add(kind, actor, atMs, { event, before, after } as ActorStep);
    },
  });
  expect([...charts]).toEqual(expect.arrayContaining(['pod', 'supervisor', 'probe', 'eviction', 'plugin']));
  expect(given.secrets).toBeGreaterThan(50);
  expect(writer.take().lines).not.toContain(SECRET);
});
