/** Reasons that the kubelet does not have: why a pod waits. Its chart and `/pods` show them, and events would only repeat them. */
const LOG_ONLY: ReadonlySet<string> = new Set([
  'RuntimeNotReady',
  'RemovingFormerPod',
  'NameTaken',
  'MakingRoom',
]);

/** Whether events of this reason are logged, and not sent to the API server. */
export function isLogOnly(reason: string): boolean {
  return LOG_ONLY.has(reason);
}
