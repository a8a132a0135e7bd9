/** The double answers as a real API server did. `npm run update:api-exchanges` records the answers anew. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { describeOnControlPlane } from '../../control-plane.ts';
import { STORIES } from './stories.ts';
import { tellStory, type ToldStory } from './tell-story.ts';

describeOnControlPlane('what a real API server answered', { programs: 'double' }, (controlPlane) => {
  describe.each(STORIES.map((story) => [story.name, story] as const))('of %s', (name, story) => {
    test('is what the double answers, request by request, and event by event', async () => {
      const recorded = JSON.parse(
        readFileSync(new URL(`./${name}.json`, import.meta.url), 'utf8'),
      ) as ToldStory;
      expect(JSON.parse(JSON.stringify(await tellStory(controlPlane, story)))).toEqual(recorded);
    });
  });
});
