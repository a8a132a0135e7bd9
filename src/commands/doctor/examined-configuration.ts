/** The configuration that the machine is looked at with. One that does not hold is a finding, and the machine is looked at all the same. */
import { resolveConfig, type RunFlags, type StateletConfig } from '../../config/config.ts';
import { type Finding, findingsOf } from '../../policies/doctor/finding.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { adviceOnSources, configure } from '../configure.ts';

interface ExaminedConfiguration {
  readonly config: StateletConfig;
  readonly findings: readonly Finding[];
}

const { ok, warning, error } = findingsOf('configuration');
const MEND = 'docs/configuration.md has every flag and field';
/** Say where things are. A wrong value of another flag does not hide what is wrong there. */
const PLACES = ['rootDir', 'containerRuntimeEndpoint', 'kubeconfig', 'bootstrapKubeconfig'];

export async function examinedConfiguration(flags: RunFlags): Promise<ExaminedConfiguration> {
  try {
    const { config, warnings } = await configure(flags);
    const advice = adviceOnSources(config, ['--kubeconfig']);
    const findings = [
      ...warnings.map((text) => warning(text, MEND)),
      ...(advice === undefined
        ? []
        : [warning(advice, 'add staticPodPath to the file, or one of these flags')]),
    ];
    const from = flags.config === undefined ? 'flags and defaults' : `${flags.config}, flags and defaults`;
    return { config, findings: findings.length > 0 ? findings : [ok(`${from} hold`)] };
  } catch (problem) {
    if (!(problem instanceof StateletError)) throw problem;
    const lines = errorMessage(problem).split('\n');
    return { config: placesOnly(flags), findings: lines.map((line) => error(line, MEND)) };
  }
}

function placesOnly(flags: RunFlags): StateletConfig {
  const host = { hostnameOverride: 'node' };
  const places = Object.fromEntries(Object.entries(flags).filter(([name]) => PLACES.includes(name)));
  try {
    return resolveConfig({ ...places, ...host });
  } catch {
    return resolveConfig(host);
  }
}
