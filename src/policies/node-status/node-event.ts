/** Events about the node that a change of its object leads to. */
import type { Node } from '../../types/kubernetes.ts';

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A node object that was brought up to date, and the events that tell what has changed. */
export interface UpdatedNode {
  readonly node: Node;
  readonly events: readonly NodeEvent[];
}

/** `NodeReady`, `NodeHasDiskPressure`, … */
export function statusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}

/** The event for a node that was cordoned or uncordoned since `wasUnschedulable` was read. */
export function schedulableEvent(node: Node, wasUnschedulable: boolean): NodeEvent | undefined {
  const unschedulable = node.spec?.unschedulable ?? false;
  if (unschedulable === wasUnschedulable) return undefined;
  return statusEvent(node.metadata.name, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable');
}

export function rebootedEvent(nodeName: string, bootID: string): NodeEvent {
  const message = `Node ${nodeName} has been rebooted, boot id: ${bootID}`;
  return { type: 'Warning', reason: 'Rebooted', message };
}
