/** The daemon is killed at exact points of its calls to the monitor, and the next daemon adopts its pods. */
import type { When } from '../support/deaths/death.ts';
import { embeddedStage } from '../support/deaths/embedded-stage.ts';
import { testDeaths } from '../support/deaths/suite.ts';
import { CHANGES } from '../support/runtime-tap.ts';

// The monitor carries out every call that it has received, even if the agent is killed meanwhile: `during` equals `after`.
const WHENS: readonly When[] = ['before', 'after', 'late'];

testDeaths(
  embeddedStage,
  CHANGES.flatMap((call) => WHENS.map((when) => [when, call] as const)),
);
