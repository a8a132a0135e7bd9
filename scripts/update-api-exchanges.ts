/**
 * Records anew the answers of a real API server to the requests of `test/support/api-server/exchanges/stories.ts` and to the random ones of
 * `test/support/api-server/random`, and the fields of its objects. The double of the API server uses the fields, and the tests in these folders
 * compare it with the answers. Needs the programs of a control plane, and root.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startControlPlane } from '../test/support/control-plane/control-plane.ts';
import { type ApiDocument, fieldTable } from '../test/support/api-server/fields/field-table.ts';
import { playSteps } from '../test/support/api-server/random/play-steps.ts';
import { randomSteps } from '../test/support/api-server/random/random-steps.ts';
import {
  RECORDED_SEEDS,
  RECORDED_STEPS,
  recordFile,
  recordText,
} from '../test/support/api-server/random/recorded-steps.ts';
import { groupVersions, SERVED_TYPES } from '../test/support/api-server/served-types.ts';
import { STORIES } from '../test/support/api-server/exchanges/stories.ts';
import { tellStory } from '../test/support/api-server/exchanges/tell-story.ts';
import { noControlPlaneBecause } from '../test/support/kubernetes-programs.ts';
import { formatted } from './formatted.ts';

const FIELDS = fileURLToPath(
  new URL('../test/support/api-server/fields/object-fields.json', import.meta.url),
);

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
    writeFileSync(file, await formatted(file, told));
    console.log(`recorded ${story.name}: ${String(story.steps.length)} requests`);
  }
  for (const seed of RECORDED_SEEDS) {
    const played = await playSteps(controlPlane, randomSteps(seed, RECORDED_STEPS), seed);
    writeFileSync(recordFile(seed), recordText(played));
    console.log(`recorded seed ${String(seed)}: ${String(played.length)} requests`);
  }
  const roots = groupVersions()
    .filter(([group]) => group !== 'metrics.k8s.io')
    .map(([group, version]) => (group === '' ? `api/${version}` : `apis/${group}/${version}`));
  const documents = await Promise.all(roots.map(openApiOf));
  const table = JSON.stringify(
    fieldTable(
      documents.filter((one) => one !== undefined),
      SERVED_TYPES,
    ),
  );
  writeFileSync(FIELDS, await formatted(FIELDS, table));
} finally {
  await controlPlane.stop();
}

/** Undefined: the server does not have that version of the group. */
async function openApiOf(root: string): Promise<ApiDocument | undefined> {
  const { cert, key } = controlPlane.ca.filesOf('admin');
  const options = {
    ca: readFileSync(controlPlane.ca.files.cert),
    cert: readFileSync(cert),
    key: readFileSync(key),
  };
  const { promise, resolve, reject } = Promise.withResolvers<ApiDocument | undefined>();
  get(`${controlPlane.server}/openapi/v3/${root}`, options, (answer) => {
    if (answer.statusCode === 200) json(answer).then((document) => resolve(document as ApiDocument), reject);
    else resolve(undefined);
  }).once('error', reject);
  return promise;
}
