/** The first of three parts of the seeds: parts run side by side. */
import { holdsForSeeds } from './seeds-suite.ts';

holdsForSeeds(1);
