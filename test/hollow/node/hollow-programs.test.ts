import { expect, test } from '@jest/globals';
import { hollowProgram, probeCommand } from '../../../src/hollow/node/hollow-programs.ts';
import { keyedRandom } from '../../../src/simulation/plan/seeded-random.ts';

let now = 0;
const options = { random: keyedRandom(1), now: () => now, probeFailures: { share: 0.5, windowMs: 60_000 } };
const program = (...words: string[]) => hollowProgram(words, options);

test.each([
  [['nginx', '-g', 'daemon off;'], { exitCode: 0, onTerm: { exitCode: 143 } }],
  [['sleep', '90'], { exitCode: 0, takesMs: 90_000 }],
  [['/bin/sleep', '1.5m'], { exitCode: 0, takesMs: 90_000 }],
  [['sleep', 'infinity'], { exitCode: 0 }],
  [['true'], { exitCode: 0, takesMs: 0 }],
  [['/bin/false'], { exitCode: 1, takesMs: 0 }],
  [['sh', '-c', 'exit 3'], { exitCode: 3, takesMs: 0 }],
  [['sh', '-c', ' echo  hi '], { exitCode: 0, stdout: 'hi\n' }],
  [['fail', 'exit-after=5s', 'code=9'], { exitCode: 9, takesMs: 5_000 }],
])('a container does what its command says, or runs: %j', (words, expected) => {
  expect(program(...words)).toMatchObject(expected);
});

test('a command that nothing is known of never ends by itself', () => {
  expect(program('postgres', '-D', '/data')).not.toHaveProperty('takesMs');
});

test('probes of a container fail for whole windows of time, about as many as the plan says', () => {
  const fails = (container: string) => program(...probeCommand('uid', container, 'httpGet')).exitCode === 1;
  const windows = Array.from({ length: 400 }, (_, window) => {
    const inWindow = [5_000, 25_000, 45_000].map((ms) => {
      // Windows of a container begin at a time of its own.
      now = Math.ceil((window - options.random('probe/uid/web')) * 60_000) + ms;
      return fails('web');
    });
    expect(new Set(inWindow).size).toBe(1);
    return inWindow[0];
  });
  const failed = windows.filter(Boolean).length;
  expect([failed > 150, failed < 250]).toEqual([true, true]);
});

test('without failures by plan, each probe succeeds', () => {
  const calm = { ...options, probeFailures: { share: 0, windowMs: 60_000 } };
  expect(hollowProgram(probeCommand('uid', 'web', 'exec'), calm)).toEqual({ exitCode: 0, takesMs: 0 });
});
