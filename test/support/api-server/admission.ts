/** What the admission plugins of a real API server change in new pods and nodes, as far as a node or a test sees it. */
import { isMirrorPod } from '../../../src/agent/policies/pod/pod-kinds.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { AnyObject, Draft, Store } from './context.ts';
import { typeOf } from './served-types.ts';
import { forbidden, type StatusError } from './status-error.ts';

const TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const TOKEN_SECONDS = 3607;
const TOLERATION_SECONDS = 300;
const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';

export interface AdmissionOptions {
  readonly store: Store;
  readonly serviceAccounts: boolean;
  /** Five letters and digits. */
  readonly randomSuffix: () => string;
}

/** Changes the new pod, which has its defaults already. Throws why it is refused. */
export function admitPod(pod: Draft, options: AdmissionOptions): void {
  const refuse = (why: string): StatusError => forbidden(typeOf('pods'), String(pod.metadata.name), why);
  resolvePriority(pod, options.store, refuse);
  resolveRuntimeClass(pod, options.store, refuse);
  tolerateLostNodes(pod);
  if (!isMirrorPod(pod as Pod) && options.serviceAccounts) giveServiceAccount(pod, options, refuse);
  if (pod.spec.serviceAccountName !== undefined) pod.spec.serviceAccount = pod.spec.serviceAccountName;
}

type Refuse = (why: string) => StatusError;

function resolvePriority(pod: Draft, store: Store, refuse: Refuse): void {
  const classes = store.list('priorityclasses.scheduling.k8s.io') as AnyObject[];
  const { priorityClassName = '' } = pod.spec;
  const found =
    priorityClassName === ''
      ? classes.find(({ globalDefault }) => globalDefault === true)
      : classes.find(({ metadata }) => metadata.name === priorityClassName);
  if (priorityClassName !== '' && found === undefined)
    throw refuse(`no PriorityClass with name ${priorityClassName} was found`);
  const value = Number(found?.value ?? 0);
  const sent = pod.spec.priority as number | undefined;
  if (sent !== undefined && sent !== value)
    throw refuse(
      `the integer value of priority (${sent}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  pod.spec.priority = value;
  if (found !== undefined) pod.spec.priorityClassName = found.metadata.name;
  pod.spec.preemptionPolicy ??= found?.preemptionPolicy ?? 'PreemptLowerPriority';
}

function resolveRuntimeClass(pod: Draft, store: Store, refuse: Refuse): void {
  const { runtimeClassName: name, overhead } = pod.spec;
  if (name === undefined) {
    if (overhead !== undefined)
      throw refuse('pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead');
    return;
  }
  const found = store.get('runtimeclasses.node.k8s.io', { name }) as AnyObject | undefined;
  if (found === undefined) throw refuse(`pod rejected: RuntimeClass "${name}" not found`);
  if (found.overhead?.podFixed !== undefined) pod.spec.overhead = found.overhead.podFixed;
  if (found.scheduling?.nodeSelector !== undefined)
    pod.spec.nodeSelector = { ...pod.spec.nodeSelector, ...found.scheduling.nodeSelector };
  if (found.scheduling?.tolerations !== undefined)
    pod.spec.tolerations = [...(pod.spec.tolerations ?? []), ...found.scheduling.tolerations];
}

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
}

export function tolerateLostNodes(pod: Draft): void {
  const tolerations: Toleration[] = pod.spec.tolerations ?? [];
  const missing = [NOT_READY, UNREACHABLE].filter(
    (taint) =>
      !tolerations.some(
        ({ key = '', effect = '' }) =>
          (key === taint || key === '') && (effect === 'NoExecute' || effect === ''),
      ),
  );
  if (missing.length === 0) return;
  pod.spec.tolerations = [
    ...tolerations,
    ...missing.map((key) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: TOLERATION_SECONDS,
    })),
  ];
}

function giveServiceAccount(pod: Draft, { store, randomSuffix }: AdmissionOptions, refuse: Refuse): void {
  const { spec } = pod;
  const namespace = String(pod.metadata.namespace);
  if ((spec.serviceAccountName ?? '') === '') spec.serviceAccountName = 'default';
  const name = String(spec.serviceAccountName);
  const account = store.get('serviceaccounts', { namespace, name }) as AnyObject | undefined;
  if (account === undefined)
    throw refuse(`error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`);
  const mounts = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
  if (mounts === true) mountToken(spec, randomSuffix);
  if ((spec.imagePullSecrets ?? []).length === 0 && account.imagePullSecrets !== undefined)
    spec.imagePullSecrets = account.imagePullSecrets;
}

function mountToken(spec: Draft, randomSuffix: () => string): void {
  const volumes: { name: string }[] = spec.volumes ?? [];
  const existing = volumes.find(({ name }) => name.startsWith('kube-api-access-'));
  const name = existing?.name ?? `kube-api-access-${randomSuffix()}`;
  let isNeeded = false;
  for (const container of [...(spec.initContainers ?? []), ...spec.containers] as Draft[]) {
    const mounts: { mountPath: string }[] = container.volumeMounts ?? [];
    if (mounts.some(({ mountPath }) => mountPath === TOKEN_PATH)) continue;
    container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: TOKEN_PATH }];
    isNeeded = true;
  }
  if (isNeeded && existing === undefined) spec.volumes = [...volumes, { name, projected: tokenSources() }];
}

function tokenSources(): object {
  const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.namespace' };
  return {
    defaultMode: 0o644,
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: TOKEN_SECONDS } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      { downwardAPI: { items: [{ path: 'namespace', fieldRef }] } },
    ],
  };
}

/** A new node gets no pods until it is ready. */
export function taintNewNode(node: Draft): void {
  const taints: { key: string; effect: string }[] = node.spec?.taints ?? [];
  if (taints.some(({ key, effect }) => key === NOT_READY && effect === 'NoSchedule')) return;
  node.spec = { ...node.spec, taints: [...taints, { key: NOT_READY, effect: 'NoSchedule' }] };
}
