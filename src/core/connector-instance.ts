/** Connectors have instances without a tilde; that of a connected worker always has one (workers/instance.ts). */
export const CONNECTOR_INSTANCE_PREFIX = 'connector/';

/** Whether what runs a dispatch is a connector of this engine, and no worker that came to it. */
export function isConnectorInstance(instanceId: string): boolean {
  return instanceId.startsWith(CONNECTOR_INSTANCE_PREFIX) && !instanceId.includes('~');
}
