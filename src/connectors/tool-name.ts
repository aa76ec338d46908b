import { connectorIdFault } from './options.ts';

const SEPARATOR = '__';

/**
 * The name under which a server's tool is known here: `id__name` (6.15). What a tool's name may not hold is
 * written as in a URI, and so is the per cent sign, so that no two names become one.
 */
export function toolNameOf(connectorId: string, serverName: string, prefix: boolean): string {
  const name = serverName
    .toWellFormed()
    .replace(/[\p{White_Space}\p{C}%]/gu, (character) =>
      [...Buffer.from(character)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
        .join(''),
    );
  return prefix ? connectorId + SEPARATOR + name : name;
}

/** The connector and the server's own name that a prefixed name stands for; undefined for a name of another form. */
export function serverNameOf(
  toolName: string,
): { readonly connectorId: string; readonly serverName: string } | undefined {
  const at = toolName.indexOf(SEPARATOR);
  const connectorId = toolName.slice(0, Math.max(at, 0));
  if (connectorIdFault(connectorId) !== undefined) return undefined;
  try {
    return { connectorId, serverName: decodeURIComponent(toolName.slice(at + SEPARATOR.length)) };
  } catch {
    // A per cent sign that stands for nothing: no name of ours.
    return undefined;
  }
}
