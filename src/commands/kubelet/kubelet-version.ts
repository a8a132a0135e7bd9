/** What `--version` of the kubelet prints: installers read it. */
import { flagOrNot } from '../../config/setting.ts';
import { KUBELET_VERSION } from '../../policies/node/node-software.ts';
import { StateletError } from '../../types/errors.ts';
import { ownVersion } from '../../version.ts';

/** The text for `--version=GIVEN`; undefined where nothing is to be printed. Throws `InvalidArgument` for another text. */
export function kubeletVersion(given: string): string | undefined {
  if (given === 'raw') return `${rawVersion()}\n`;
  // The kubelet would report this version as its own. Here it may be given, and changes nothing.
  if (given.startsWith('v')) {
    checkRelease(given);
    return undefined;
  }
  const isWanted = flagOrNot.fromText(given);
  if (isWanted === undefined)
    throw invalid(`must be true, false, raw, or ${KUBELET_VERSION} with a suffix (got "${given}")`);
  return isWanted ? `Kubernetes ${KUBELET_VERSION}\n` : undefined;
}

function checkRelease(given: string): void {
  const [release = ''] = /^v\d+\.\d+\.\d+/u.exec(given) ?? [];
  if (release === KUBELET_VERSION) return;
  throw invalid(`version "${given}" must match major/minor/patch of default version "${KUBELET_VERSION}"`);
}

function rawVersion(): string {
  const [major = '', minor = ''] = KUBELET_VERSION.slice(1).split('.');
  const members = {
    Major: major,
    Minor: minor,
    EmulationMajor: '',
    EmulationMinor: '',
    MinCompatibilityMajor: '',
    MinCompatibilityMinor: '',
    GitVersion: KUBELET_VERSION,
    GitCommit: '',
    GitTreeState: '',
    BuildDate: '',
    GoVersion: '',
    Compiler: `statelet ${ownVersion()}`,
    Platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
  const written = Object.entries(members).map(([name, text]) => `${name}:${JSON.stringify(text)}`);
  return `version.Info{${written.join(', ')}}`;
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', `--version: ${message}`);
}
