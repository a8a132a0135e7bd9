/**
 * Records anew what a real API server answers to the requests of `test/support/api-server/exchanges/stories.ts`. The answers are held
 * against the double of the API server by `exchanges.test.ts` there. Needs the programs of a control plane, and root.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { startControlPlane } from '../test/support/control-plane/control-plane.ts';
import { STORIES } from '../test/support/api-server/exchanges/stories.ts';
import { tellStory } from '../test/support/api-server/exchanges/tell-story.ts';
import { noControlPlaneBecause } from '../test/support/kubernetes-programs.ts';

const reason = noControlPlaneBecause();
if (reason !== undefined) {
  console.error(`update:api-exchanges: no real control plane: ${reason}`);
  process.exit(1);
}
const controlPlane = await startControlPlane({ programs: 'real' });
try {
  for (const story of STORIES) {
    const file = fileURLToPath(
      new URL(`../test/support/api-server/exchanges/${story.name}.json`, import.meta.url),
    );
    const told = JSON.stringify(await tellStory(controlPlane, story));
    writeFileSync(file, await format(told, { ...(await resolveConfig(file)), filepath: file }));
    console.log(`recorded ${story.name}: ${String(story.steps.length)} requests`);
  }
} finally {
  await controlPlane.stop();
}
