/** Requests of two clients, drawn by a seed: an administrator and a node, who write to few objects so that they meet. */
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import { configMapStep } from './config-map-steps.ts';
import { Draw, type RandomStep } from './draw.ts';
import { listStep } from './list-steps.ts';
import { nodeStep, otherStep } from './other-steps.ts';
import { podStep } from './pod-steps.ts';

export const namespaceOf = (seed: number): string => `seed-${seed}`;

/** The first step makes the namespace in which the others write. */
export function randomSteps(seed: number, count: number): RandomStep[] {
  const namespace = namespaceOf(seed);
  const draw = new Draw(seededRandom(seed), namespace);
  const first: RandomStep[] = [
    {
      as: 'admin',
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    },
  ];
  const subjects = [
    [3, () => configMapStep(draw)],
    [4, () => podStep(draw)],
    [1.5, () => nodeStep(draw)],
    [1, () => otherStep(draw)],
    [1.5, () => listStep(draw)],
  ] as const;
  return [...first, ...Array.from({ length: count }, () => draw.weighted(subjects))];
}
