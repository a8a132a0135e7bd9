import {
  type NicKept,
  NO_LINKS,
  unhealthyNics,
} from '../../policies/eviction-plugins/built-in/nic-health.ts';
import type { BuiltIn } from './plugin-tools.ts';

/** Whether a network interface has lost its link, and which pods chose it. */
export const nicHealth: BuiltIn<NicKept> = {
  atFirst: NO_LINKS,

  async candidates(asked, figures, kept) {
    return unhealthyNics(await figures.links(), asked, kept);
  },
};
