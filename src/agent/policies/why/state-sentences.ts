/**
 * What a chart does in each of its states, in words for people: the one vocabulary of `statelet why`. The subject of a sentence is what the
 * chart is about. A state that only waits for its turn says so.
 */
type Sentences = Readonly<Record<string, string>>;

const POD: Sentences = {
  'Syncing.Starting.New': 'is new, and its admission is about to begin',
  'Syncing.Starting.AwaitingRuntime': 'waits for the container runtime',
  'Syncing.Starting.AwaitingRemoval':
    'waits until what is left of an earlier pod of its UID has been removed',
  'Syncing.Starting.AwaitingName': 'waits for another pod of the same name to end',
  'Syncing.Starting.Admitting': 'waits for the node to decide whether it has room, and for its devices',
  'Syncing.Starting.AwaitingRoom': 'waits until other pods have freed room',
  'Syncing.Starting.MakingRoom': 'waits for room: other pods are ended for it',
  'Syncing.Working': 'is being brought to what its spec says',
  'Syncing.Settled': 'is as its spec says',
  'Syncing.BackingOff': 'waits for the next try',
  'Syncing.Draining': 'must end: waits for calls that may still start its containers',
  'Terminating.Stopping': 'is ending: its containers are being stopped',
  'Terminating.Shortening': 'is ending: its grace period has been shortened',
  'Terminating.BackingOff': 'is ending: not all of its containers could be stopped, and that is tried again',
  'Terminated.CleaningUp': 'has ended: its volumes and its cgroup are being removed',
  'Terminated.BackingOff': 'has ended: its volumes or its cgroup could not be removed; that is tried again',
  'Terminated.Finished': 'has ended',
};

const SUPERVISOR: Sentences = {
  'Sources.Gathering': 'not every source of pods has been read: nothing is removed',
  'Sources.Ready': 'all sources of pods have been read',
  'Runtime.NotReady': 'the container runtime is not ready: no pod is started or synced',
  'Runtime.Ready': 'the container runtime is ready',
  'Loop.Running': 'the agent runs',
  'Loop.EndingPods': 'the agent ends its pods before it stops',
  'Loop.Stopped': 'the agent has stopped',
};

const PREEMPTION: Sentences = {
  Idle: 'asks for no room',
  SelectingVictims: 'the pods to be preempted for it are being chosen',
  Evicting: 'the pods preempted for it are ending',
  Admitting: 'room has been made: admission is tried again',
  Rejecting: 'no room can be made for it',
};

const EVICTION: Sentences = {
  'Pass.Observing': 'the node is not being measured now',
  'Pass.Evaluating.Memory': 'memory is being measured',
  'Pass.Evaluating.Everything': 'the node is being measured',
  'Pass.ReclaimingNode': 'dead containers and unused images are being removed',
  'Pass.Ranking': 'pods are being put in the order in which they would be evicted',
  'Pass.Evicting': 'evicted pods are ending',
  'Pass.CleaningUp': 'volumes and cgroups of evicted pods are being removed',
  'Pass.Stopped': 'the node is not measured any more: the agent stops',
  'Schedule.Memory.NotDue': 'memory need not be measured yet',
  'Schedule.Memory.Due': 'memory is to be measured',
  'Schedule.Memory.Measuring': 'memory is being measured',
  'Schedule.Memory.Confirmed': 'memory is short',
  'Schedule.Memory.InDoubt': 'memory seemed to be short: it is measured again soon',
  'Schedule.Memory.Stopped': 'memory is not measured any more: the agent stops',
  'Schedule.Everything.Waiting': 'the next measurement waits for its time',
  'Schedule.Everything.Due': 'the node is to be measured',
  'Schedule.Everything.Measuring': 'a pass is under way',
  'Schedule.Everything.Stopped': 'no pass follows: the agent stops',
  'Pressure.Memory.Absent': 'there is no pressure on memory',
  'Pressure.Memory.Present.Observed': 'memory is under pressure',
  'Pressure.Memory.Present.Lingering': 'memory was under pressure a short while ago',
  'Pressure.Disk.Absent': 'there is no pressure on disks',
  'Pressure.Disk.Present.Observed': 'disks are under pressure',
  'Pressure.Disk.Present.Lingering': 'disks were under pressure a short while ago',
  'Pressure.PID.Absent': 'there is no pressure on process IDs',
  'Pressure.PID.Present.Observed': 'process IDs are under pressure',
  'Pressure.PID.Present.Lingering': 'process IDs were under pressure a short while ago',
};

const PROBE: Sentences = {
  Idle: 'has nothing to probe',
  Waiting: 'waits for its next turn',
  Probing: 'is being run',
  Draining: 'is being aborted: its container is gone',
  Stopped: 'has stopped: the pod is ending',
};

const CONNECTION: Sentences = {
  Waiting: 'the API server does not answer: running pods go on, and writes to it wait',
  Connected: 'the API server answers',
  Unauthorized: 'the API server does not accept the credentials of this node',
};

const CERTIFICATE: Sentences = {
  'Renewal.Idle': 'is not requested yet',
  'Renewal.AwaitingAddresses': 'waits for the node to have an IP address',
  'Renewal.Settled': 'exists; another one is requested before it expires',
  'Renewal.Requesting': 'is being requested',
  'Renewal.AwaitingCertificate': 'waits to be approved and signed',
  'Renewal.BackingOff': 'could not be requested; that is tried again',
  'Renewal.Stopped': 'is not requested any more: the agent stops',
  'Validity.Idle': 'is not checked yet',
  'Validity.Unwatched': 'is not needed by the agent',
  'Validity.Valid': 'is valid',
  'Validity.Missing': 'is missing: the agent ends if the server goes on refusing one',
  'Validity.Overdue': 'is missing: the server does not answer, and the agent goes on',
  'Validity.GivenUp': 'is missing, and only another start with other credentials helps',
  'Validity.Stopped': 'is not checked any more: the agent stops',
};

const LEASE: Sentences = {
  AwaitingNode: 'waits for the Node object',
  Ensuring: 'is being read, or created',
  BackingOff: 'could be neither read nor created; that is tried again',
  Renewing: 'is being renewed',
  Waiting: 'waits for the time of its next renewal',
  Stopped: 'is not renewed any more: the agent stops',
};

const NODE: Sentences = {
  Idle: 'has not begun',
  Beginning: 'is about to be registered',
  'Registering.BackingOff': 'could not be registered; that is tried again',
  'Registering.Trying': 'is being registered',
  'AwaitingNode.Looking': 'is being read: something else must create it',
  'AwaitingNode.Waiting': 'does not exist yet: something else must create it',
  'Registered.Reporting': 'is being reported',
  'Registered.Waiting': 'waits for its next report',
  'OtherMachine.Looking': 'belongs to another machine, and is being read again',
  'OtherMachine.Waiting': 'belongs to another machine',
};

const SHUTDOWN: Sentences = {
  Watching: 'the machine is not shutting down',
  'ShuttingDown.NextGroup': 'the machine shuts down: the next group of pods is about to end',
  'ShuttingDown.EndingGroup': 'the machine shuts down: a group of pods is ending',
  'ShuttingDown.Ended': 'all pods have ended: the machine may go down',
  'ShuttingDown.Stopped': 'the machine shuts down, and the agent stops',
};

const RESIZE: Sentences = {
  'Request.Granted': 'the node has granted what the spec asks for',
  'Request.Judging': 'it is not decided yet whether the node grants what the spec asks for',
  'Request.Deferred': 'what the spec asks for waits for room',
  'Request.Infeasible': 'this node can never grant what the spec asks for',
  'Actuation.Actuated': 'the pod has what was granted',
  'Actuation.InProgress': 'what was granted is being carried out',
  'Actuation.Failing': 'what was granted could not be carried out; that is tried again',
};

const STATUS_WRITER: Sentences = {
  Idle: 'the API server has every status',
  Writing: 'statuses are being written to the API server',
  Waiting: 'the API server does not answer: statuses wait',
  Trying: 'one status is written, to see whether the API server answers again',
  Stopped: 'statuses are not written any more: the agent stops',
};

const EVICTION_PLUGINS: Sentences = {
  Waiting: 'eviction plugins are asked again when the period is over',
  Collecting: 'eviction plugins are being asked which pods should go',
  Choosing: 'the rules choose among the pods that plugins have named',
  Killing: 'the chosen pods are being handed over to be ended',
};

const PLUGIN: Sentences = {
  'Registering.Asking': 'is being asked for its type, its name and its versions',
  'Registering.Accepting': 'is being told that it is registered',
  'Registering.Refusing': 'is being told why it is not registered',
  'Registering.BackingOff': 'is not registered; that is tried again',
  Serving: 'is asked, and answers',
  Failing: 'is asked, and does not answer as it should',
  Gone: 'has gone, and is not asked any more',
  Stopped: 'is not asked any more: the agent stops',
};

const DEVICE_PLUGIN: Sentences = {
  Connecting: 'has registered, and is being asked what it can do',
  'Connected.Listing': 'has not listed its devices yet: none can be handed out',
  'Connected.Serving': 'serves its devices',
  'Connected.Replacing':
    'serves its devices, while the plugin that is to take its place is asked what it can do',
  Gone: 'has gone: its devices are not handed out until it registers again',
  Forgotten: 'has not registered again in time: the node has none of its devices any more',
  Stopped: 'is not asked any more: the agent stops',
};

const CSI_VOLUME: Sentences = {
  Known: 'may be staged by an earlier agent',
  Attaching: 'is to be attached to this node by a controller',
  Staging: 'is being made ready by its driver',
  Staged: 'is ready for pods',
  Failed: 'could not be attached or staged; the next try of a pod begins again',
  Unstaging: 'is used by no pod, and is being unstaged',
  UnstageFailed: 'could not be unstaged; that is tried again',
  Gone: 'is not on this node any more',
  Stopped: 'is left as it is: the agent stops',
};

const DRA_DRIVER: Sentences = {
  Connected: 'is connected',
  'Away.Link.Unregistered': 'has no socket',
  'Away.Link.Connecting': 'has registered, and is being connected',
  'Away.Link.Pausing': 'does not listen at its socket; that is tried again',
  'Away.Slices.Kept': 'is not connected; its ResourceSlices are kept for a while',
  'Away.Slices.Removing': 'is not connected, and its ResourceSlices are being deleted',
  'Away.Slices.Removed': 'is not connected, and its ResourceSlices are deleted',
  Forgotten: 'is gone, and so are its ResourceSlices',
  Stopped: 'is not asked any more: the agent stops',
};

const RESOURCE_CLAIM: Sentences = {
  Known: 'may have been prepared by an earlier agent',
  Preparing: 'is being prepared by its drivers',
  Prepared: 'is ready for pods',
  Failed: 'could not be prepared; the next try of a pod begins again',
  Unpreparing: 'is used by no pod any more, and is being unprepared',
  UnprepareFailed: 'could not be unprepared; that is tried again',
  Gone: 'is not on this node any more',
  Stopped: 'is left as it is: the agent stops',
};

const POD_KILL: Sentences = {
  Requesting: 'is being requested',
  BackingOff: 'was refused or not answered; it is requested again',
  AwaitingEnd: 'was accepted: the pod is ending',
  Hastening: 'is being requested again, with a shorter grace period',
  Overdue: 'was accepted, but the pod has not ended in time',
  Ended: 'is over: the pod has ended',
  Stopped: 'is not asked for again: the agent stops',
};

const TAINTS: Sentences = {
  Settled: 'the Node object has the taints of the conditions',
  Writing: 'the taints of the conditions are being written to the Node object',
  BackingOff: 'the taints of the conditions could not be written; that is tried again',
  Stopped: 'the taints of the conditions are not written any more: the agent stops',
};

const CHARTS: Readonly<Record<string, Sentences>> = {
  certificate: CERTIFICATE,
  connection: CONNECTION,
  csiVolume: CSI_VOLUME,
  devicePlugin: DEVICE_PLUGIN,
  draDriver: DRA_DRIVER,
  eviction: EVICTION,
  evictionPlugins: EVICTION_PLUGINS,
  lease: LEASE,
  node: NODE,
  plugin: PLUGIN,
  pod: POD,
  podKill: POD_KILL,
  preemption: PREEMPTION,
  probe: PROBE,
  resize: RESIZE,
  resourceClaim: RESOURCE_CLAIM,
  shutdown: SHUTDOWN,
  statusWriter: STATUS_WRITER,
  supervisor: SUPERVISOR,
  taints: TAINTS,
};

/** `chart` by the name under which `statelet charts` prints it; `state` as `Syncing.Settled`. Undefined for a state that is none. */
export function stateSentence(chart: string, state: string): string | undefined {
  return CHARTS[chart]?.[state];
}

/** Of a state of a pod's chart, also where another version has that state and this one does not. */
export function podSentence(state: string): string {
  return stateSentence('pod', state) ?? `is in state ${state}`;
}

export function statesWithSentence(chart: string): readonly string[] {
  return Object.keys(CHARTS[chart] ?? {});
}
