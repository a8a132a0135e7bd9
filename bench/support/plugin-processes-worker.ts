/**
 * Serves several eviction plugins in one process, each at a socket of its own. The first argument says which, as JSON. A line is printed when
 * all of them are there.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startEvictionPlugin } from '../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import type { PluginProcess } from './plugin-processes.ts';

const { registryDir, plugins } = JSON.parse(process.argv[2] ?? '{}') as PluginProcess;
const never = new Promise<undefined>(() => undefined);

const starts = plugins.map(({ name, answersAfterMs }) => {
  const pause = async () => {
    if (answersAfterMs === undefined) await never;
    else if (answersAfterMs > 0) await delay(answersAfterMs);
  };
  return startEvictionPlugin(
    {
      name,
      async evictPods({ activePods }) {
        await pause();
        const [pod] = activePods;
        return pod && { evictPods: [{ pod, reason: 'it is the first one' }] };
      },
      async thresholdMet() {
        await pause();
        return { metType: 'SOFT_MET', scope: 'memory', thresholdValue: 10, observedValue: 11 };
      },
    },
    { registryDir, log: () => undefined, handleSignals: false },
  );
});
await Promise.all(starts);
process.stdout.write('all serve\n');
