/** What every test run needs: sources import the validators, which are generated. `dist/` is built by `built.ts`. */
import { generateStaleValidators } from '../../scripts/generate-validators.ts';

export default generateStaleValidators;
