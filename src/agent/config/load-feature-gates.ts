/** Feature gates of the flag and of the file. The flag is joined with the field, and wins for the gates that it names. */
import {
  featureConflicts,
  type FeatureFields,
  featureGateProblems,
  type FeatureGates,
} from '../policies/node/feature-gates.ts';
import { StateletError } from '../../types/errors.ts';
import { flagOrNot, type Kind, type Setting } from './setting.ts';

const gates: Kind<FeatureGates> = {
  fromText: (given) => {
    const pairs = given.split(',').filter((pair) => pair !== '');
    const values = pairs.map((pair) => {
      const [, name = '', value = ''] = /^([^=]*)=(.*)$/su.exec(pair) ?? [];
      return [name.trim(), flagOrNot.fromText(value.trim())] as const;
    });
    if (values.some(([, value]) => value === undefined)) return undefined;
    return Object.fromEntries(values) as FeatureGates;
  },
  fromField: (value) => value as FeatureGates,
  expects: 'GATE=true or GATE=false, with commas between',
  show: (value) =>
    Object.entries(value)
      .map(([name, on]) => `${name}=${on}`)
      .join(','),
  merge: (previous, value) => ({ ...previous, ...value }),
};

export const FEATURE_GATES: Setting<FeatureGates> = {
  flag: '--feature-gates <LIST>',
  field: 'featureGates',
  default: {},
  kind: gates,
  description: "features of the kubelet that are switched on or off, by the kubelet's names",
};

/** Throws `InvalidArgument` for gates that do not exist, are locked, or do not fit together. */
export function resolveFeatureGates(
  flag: FeatureGates | undefined,
  field: FeatureGates | undefined,
  fileName: string,
): FeatureGates {
  const ofFlag = flag ?? {};
  const ofFile = field ?? {};
  const merged = { ...ofFile, ...ofFlag };
  const problems = featureGateProblems(merged);
  if (problems.length === 0) return merged;
  const origins = [
    ...(Object.keys(ofFlag).length > 0 ? ['--feature-gates'] : []),
    ...(Object.keys(ofFile).length > 0 ? [`${fileName}: featureGates`] : []),
  ];
  const lines = problems.map((problem) => `${origins.join(', ')}: ${problem}`);
  throw new StateletError('InvalidArgument', lines.join('\n'));
}

/** Throws `InvalidArgument` for fields that are given although the gate of their feature is off. */
export function checkFeatures(features: FeatureGates, given: FeatureFields, fileName: string): void {
  const conflicts = featureConflicts(features, given).map((conflict) => `${fileName}: ${conflict}`);
  if (conflicts.length > 0) throw new StateletError('InvalidArgument', conflicts.join('\n'));
}
