import { holdsForSeeds } from './seeds-suite.ts';

holdsForSeeds(3);
