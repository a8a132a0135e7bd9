/** Whether two servers answer the same to the steps of a seed, and if not, the first step at which they do not. */
import { canonicalJson } from '../../../../src/agent/policies/formats/canonical-json.ts';
import { type Played, type PlayedServer, playSteps } from './play-steps.ts';
import type { RandomStep } from './draw.ts';
import { randomSteps } from './random-steps.ts';

interface Servers {
  readonly real: PlayedServer;
  readonly double: PlayedServer;
}

/** Plays the steps of the seed against both servers. Returns the text of the first difference; undefined: there is none. */
export async function compareSeed(
  servers: Servers,
  seed: number,
  count: number,
): Promise<string | undefined> {
  const steps = randomSteps(seed, count);
  const [real, double] = await Promise.all([
    playSteps(servers.real, steps, seed),
    playSteps(servers.double, steps, seed),
  ]);
  return firstDifference(seed, steps, { real, double });
}

/** The text of the first difference: the seed, the steps up to it, and the two answers. Undefined: there is none. */
export function firstDifference(
  seed: number,
  steps: readonly RandomStep[],
  answers: { readonly real: readonly Played[]; readonly double: readonly Played[] },
): string | undefined {
  const { real, double } = answers;
  const index = steps.findIndex((_step, at) => canonicalJson(real[at]) !== canonicalJson(double[at]));
  if (index < 0) return undefined;
  const before = steps.slice(0, index + 1).map((step, at) => `${at}: ${stepText(step)}`);
  const lines = differences(real[index], double[index]);
  return [`Seed ${seed}, step ${index}:`, ...before, 'The real server and the double differ:', ...lines].join(
    '\n',
  );
}

function stepText({ as, method, path, body, onto, type }: RandomStep): string {
  const sent =
    body === undefined ? '' : ` ${onto === undefined ? '' : `onto the ${onto} `}${JSON.stringify(body)}`;
  return `${as}: ${method} ${path}${type === undefined ? '' : ` (${type})`}${sent}`;
}

/** The members that differ, each with its path. */
function differences(real: unknown, double: unknown, path = ''): string[] {
  if (canonicalJson(real) === canonicalJson(double)) return [];
  const isTree = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null;
  if (!isTree(real) || !isTree(double) || Array.isArray(real) !== Array.isArray(double))
    return [`  ${path}\n    real:   ${JSON.stringify(real)}\n    double: ${JSON.stringify(double)}`];
  const keys = new Set([...Object.keys(real), ...Object.keys(double)]);
  return [...keys].flatMap((key) => differences(real[key], double[key], `${path}.${key}`));
}
